extends SceneTree
## Plays the sample without a window and prints figures:
## godot --headless --path . --script check.gd

const SECONDS := 20.0


func _initialize() -> void:
	var main: Node3D = load("res://main.tscn").instantiate()
	root.add_child(main)
	_run.call_deferred(main)


func _run(main: Node3D) -> void:
	await process_frame
	var character: MotionloomMatcher = main.get_node("Character")
	main.set_physics_process(false)
	character.set_physics_process(false)
	var steps := [0]
	character.footstep.connect(func(_foot: String) -> void: steps[0] += 1)
	var report := {
		"takes": character.takes.names.size(),
		"bones": character.skeleton.get_bone_count(),
		"rows": character.takes.rows,
	}
	if character.takes.rows == 0:
		character.play(character.takes.names[0])
	var delta := 1.0 / 60.0
	var traveled := 0.0
	var off := 0.0
	var searches := 0
	for tick in int(SECONDS / delta):
		var seconds := tick * delta
		var angle := 0.5 * PI * floorf(seconds / 5.0)
		character.desired_velocity = Vector3(sin(angle), 0.0, cos(angle)) * 1.3
		var before := character.global_position
		character._physics_process(delta)
		var moved := (character.global_position - before) / delta
		traveled += moved.length() * delta
		if fmod(seconds, 5.0) > 2.5:
			off += (moved - character.desired_velocity).length()
			searches += 1
	report["seconds"] = SECONDS
	report["traveled_m"] = snappedf(traveled, 0.01)
	report["velocity_error_m_s"] = snappedf(off / maxi(searches, 1), 0.001)
	report["jumps"] = character.jumps
	report["footsteps"] = steps[0]
	print(JSON.stringify(report))
	quit(0 if report["takes"] > 0 and traveled > 0.0 else 1)
