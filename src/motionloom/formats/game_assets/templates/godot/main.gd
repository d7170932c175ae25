extends Node3D
## Sample: steer the character with the arrow keys or W, A, S, D. Hold Shift to run.
##
## Without a matching database, the takes are played one after another; Space skips to the next.

const WALK := 1.4
const RUN := 3.2

var _take := -1
var _left := 0.0

@onready var _character: MotionloomMatcher = $Character
@onready var _camera: Camera3D = $Camera
@onready var _help: Label = $Help


func _ready() -> void:
	var count := _character.takes.names.size()
	if _character.takes.rows > 0:
		_help.text = "%d takes. Arrow keys or W, A, S, D: walk. Shift: run." % count
	else:
		_help.text = "%d takes. Space: next take." % count
	_character.footstep.connect(_on_footstep)


func _physics_process(delta: float) -> void:
	if _character.takes.rows > 0:
		_character.desired_velocity = _wanted() * (RUN if Input.is_key_pressed(KEY_SHIFT) else WALK)
	else:
		_left -= delta
		if _left <= 0.0 or Input.is_action_just_pressed("ui_accept"):
			_take = (_take + 1) % _character.takes.names.size()
			_character.play(_character.takes.names[_take])
			_left = _character.takes.seconds[_take]
	var above := _character.global_position + Vector3(0.0, 2.6, 4.2)
	_camera.global_position = _camera.global_position.lerp(above, 1.0 - exp(-4.0 * delta))


func _wanted() -> Vector3:
	var across := Input.get_axis("ui_left", "ui_right")
	var along := Input.get_axis("ui_up", "ui_down")
	if Input.is_key_pressed(KEY_A):
		across -= 1.0
	if Input.is_key_pressed(KEY_D):
		across += 1.0
	if Input.is_key_pressed(KEY_W):
		along -= 1.0
	if Input.is_key_pressed(KEY_S):
		along += 1.0
	return Vector3(across, 0.0, along).limit_length(1.0)


func _on_footstep(_foot: String) -> void:
	pass  # play a sound here
