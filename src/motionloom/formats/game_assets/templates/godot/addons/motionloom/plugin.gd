@tool
extends EditorPlugin
## Offers the node MotionMatcher in the dialog for new nodes.


func _enter_tree() -> void:
	add_custom_type("MotionMatcher", "Node3D", preload("motion_matcher.gd"), null)


func _exit_tree() -> void:
	remove_custom_type("MotionMatcher")
