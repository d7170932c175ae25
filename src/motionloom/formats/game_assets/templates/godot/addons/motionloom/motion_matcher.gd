class_name MotionloomMatcher
extends Node3D
## A character that follows `desired_velocity` by motion matching on exported takes.
##
## Every `search_seconds`, the frame of all takes is searched whose pose continues the current one
## and whose path is nearest to the desired path. The character moves with the root motion of the
## takes. Jumps between frames are hidden by an offset that decays (inertialization).

## A foot lands.
signal footstep(foot: String)
## Playback continues at another frame.
signal jumped(take: String, frame: int)

## The exported file with the character and its animations.
@export var scene: PackedScene
@export_file("*.json") var manifest := "res://motion/takes.json"
## Seconds after which half of a change of velocity or facing is done.
@export var halflife := 0.22
@export var search_seconds := 0.1
## Seconds after which half of the offset of a jump is gone.
@export var blend_halflife := 0.08
## Velocity over the floor in meters per second, in the world.
@export var desired_velocity := Vector3.ZERO
## Direction that the body faces; zero for the direction of travel.
@export var desired_facing := Vector3.ZERO

var takes: MotionloomTakes
var skeleton: Skeleton3D
## The take that is played, and the time in it in seconds.
var take := 0
var time := 0.0
## Number of jumps so far.
var jumps := 0

var _animations: Array[Animation] = []
var _turn_tracks: Array[PackedInt32Array] = []
var _move_tracks: Array[PackedInt32Array] = []
var _root := 0
var _velocity := Vector3.ZERO
var _since_search := 0.0
var _since_jump := 10.0
var _turn_offsets: Array[Quaternion] = []
var _hips := 1
var _hips_offset := Vector3.ZERO
var _shown: Array[Quaternion] = []
var _shown_hips := Vector3.ZERO


func _ready() -> void:
	takes = MotionloomTakes.open(manifest)
	var body := scene.instantiate()
	add_child(body)
	skeleton = body.find_children("*", "Skeleton3D", true, false)[0]
	var player: AnimationPlayer = body.find_children("*", "AnimationPlayer", true, false)[0]
	player.active = false
	var bones: Dictionary = takes.manifest["skeleton"]
	_root = skeleton.find_bone(bones["root"])
	_hips = skeleton.find_bone(bones["roles"].get("hips", bones["bones"][1]))
	for name in takes.names:
		_add_animation(player.get_animation(name))
	for bone in skeleton.get_bone_count():
		_turn_offsets.append(Quaternion.IDENTITY)
		_shown.append(skeleton.get_bone_rest(bone).basis.get_rotation_quaternion())
	if takes.rows > 0:
		_start()
	_show_pose()


## Plays one take from its start, with root motion.
func play(name: String) -> void:
	_jump(takes.names.find(name), 0.0)


func _physics_process(delta: float) -> void:
	if takes.rows > 0:
		_since_search += delta
		if _since_search >= search_seconds or time + delta >= _end():
			_since_search = 0.0
			_search(time + delta >= _end())
	_advance(minf(delta, maxf(_end() - time, 0.0)))
	_since_jump += delta
	_show_pose()


func _add_animation(animation: Animation) -> void:
	var turns := PackedInt32Array()
	var moves := PackedInt32Array()
	turns.resize(skeleton.get_bone_count())
	moves.resize(skeleton.get_bone_count())
	turns.fill(-1)
	moves.fill(-1)
	for track in animation.get_track_count():
		var bone := skeleton.find_bone(animation.track_get_path(track).get_concatenated_subnames())
		if bone < 0:
			continue
		if animation.track_get_type(track) == Animation.TYPE_ROTATION_3D:
			turns[bone] = track
		elif animation.track_get_type(track) == Animation.TYPE_POSITION_3D:
			moves[bone] = track
	_animations.append(animation)
	_turn_tracks.append(turns)
	_move_tracks.append(moves)


## Starts at the allowed frame that moves least.
func _start() -> void:
	var query := PackedFloat32Array()
	query.resize(takes.columns)
	for column in takes.columns:
		var wanted := 0.0
		if column >= 21 and column % 2 == 0:
			wanted = 1.0  # all directions ahead
		query[column] = (wanted - takes.offset[column]) / takes.scale[column]
	for column in 6:  # feet: as in the mean of all frames
		query[column] = 0.0
	_jump_to_row(takes.nearest(query, takes.allowed))


func _end() -> float:
	return takes.seconds[take]


func _row() -> int:
	var last := int(round(takes.seconds[take] * takes.fps))
	return takes.first_rows[take] + mini(int(round(time * takes.fps)), last)


func _turn(number: int, bone: int, at: float) -> Quaternion:
	var track := _turn_tracks[number][bone]
	if track < 0:
		return skeleton.get_bone_rest(bone).basis.get_rotation_quaternion()
	return _animations[number].rotation_track_interpolate(track, at)


func _move(number: int, bone: int, at: float) -> Vector3:
	var track := _move_tracks[number][bone]
	if track < 0:
		return skeleton.get_bone_rest(bone).origin
	return _animations[number].position_track_interpolate(track, at)


## Place and facing of the root bone in the world of the take.
func _root_at(number: int, at: float) -> Transform3D:
	var pose := Transform3D(Basis(_turn(number, _root, at)), _move(number, _root, at))
	var above := _skeleton_in_character()
	var rest := above * skeleton.get_bone_rest(_root)
	var world := above * pose
	# Only the change against the rest pose is root motion: rigs may have other axes.
	var turned := world.basis.orthonormalized() * rest.basis.orthonormalized().inverse()
	return Transform3D(turned, world.origin)


func _skeleton_in_character() -> Transform3D:
	return global_transform.affine_inverse() * skeleton.global_transform


func _advance(delta: float) -> void:
	var before := _root_at(take, time)
	var was := time
	time += delta
	var step := before.affine_inverse() * _root_at(take, time)
	var place := global_position
	global_transform = Transform3D(global_basis, place) * step
	global_transform = global_transform.orthonormalized()
	if delta > 0.0:
		_velocity = (global_position - place) / delta
	var about: Dictionary = takes.manifest["takes"][take]
	for event: Dictionary in about["footsteps"]:
		if was < event["time"] and event["time"] <= time:
			footstep.emit(event["foot"])


func _search(must_jump: bool) -> void:
	var query := _query()
	var row := _row()
	var winner := takes.nearest(query, takes.allowed)
	if winner < 0:
		return
	var near := absi(winner - row) < int(0.2 * takes.fps) and takes.owners[winner] == take
	if must_jump or (not near and takes.cost(winner, query) < 0.95 * takes.cost(row, query)):
		_jump_to_row(winner)


## Normalized features: the pose of the current frame, and the desired path.
func _query() -> PackedFloat32Array:
	var query := takes.features.slice(_row() * takes.columns, (_row() + 1) * takes.columns)
	var rate := log(2.0) / maxf(halflife, 0.01)
	var back := global_basis.inverse()
	var ahead := back * Vector3.BACK  # the body faces +z, which Godot calls back
	var facing := desired_facing
	if facing.length() < 0.01:
		facing = desired_velocity
	var wanted_angle := 0.0
	if facing.length() > 0.1:
		var local := back * facing
		wanted_angle = atan2(local.x, local.z)
	for number in takes.horizons.size():
		var seconds := takes.horizons[number]
		var left := exp(-rate * seconds)
		var path := desired_velocity * seconds + (_velocity - desired_velocity) * (1.0 - left) / rate
		var place := back * path
		var angle := wanted_angle * (1.0 - left)
		_put(query, 15 + 2 * number, place.x)
		_put(query, 16 + 2 * number, place.z)
		_put(query, 21 + 2 * number, sin(angle))
		_put(query, 22 + 2 * number, cos(angle))
	return query


func _put(query: PackedFloat32Array, column: int, value: float) -> void:
	query[column] = (value - takes.offset[column]) / takes.scale[column]


func _jump_to_row(row: int) -> void:
	var number := takes.owners[row]
	_jump(number, (row - takes.first_rows[number]) / takes.fps)


func _jump(number: int, at: float) -> void:
	for bone in skeleton.get_bone_count():
		_turn_offsets[bone] = _shown[bone] * _turn(number, bone, at).inverse()
	_hips_offset = _shown_hips - _move(number, _hips, at)
	if jumps == 0:
		_turn_offsets.fill(Quaternion.IDENTITY)
		_hips_offset = Vector3.ZERO
	take = number
	time = at
	jumps += 1
	_since_jump = 0.0
	jumped.emit(takes.names[number], int(round(at * takes.fps)))


func _show_pose() -> void:
	var pull := 2.0 * log(2.0) / maxf(blend_halflife, 0.01)
	var share := (1.0 + pull * _since_jump) * exp(-pull * _since_jump)
	for bone in skeleton.get_bone_count():
		if bone == _root:
			skeleton.set_bone_pose(bone, skeleton.get_bone_rest(bone))
			continue
		var turned := _turn(take, bone, time)
		_shown[bone] = (Quaternion.IDENTITY.slerp(_turn_offsets[bone], share) * turned).normalized()
		skeleton.set_bone_pose_rotation(bone, _shown[bone])
	_shown_hips = _move(take, _hips, time) + share * _hips_offset
	skeleton.set_bone_pose_position(_hips, _shown_hips)
