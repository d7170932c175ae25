class_name MotionloomTakes
extends RefCounted
## The manifest of an export (takes.json) and its matching database (matching.bin).
##
## Positions are in meters with y up. Ranges of frames exclude their end; events are in seconds.

const MAGIC := "MLMM"

## Content of takes.json.
var manifest := {}
## Frames per second.
var fps := 30.0
## Names of the animations, and their durations in seconds.
var names := PackedStringArray()
var seconds := PackedFloat64Array()
## Number of rows of the database (0 if there is none) and features per row.
var rows := 0
var columns := 0
## Seconds ahead of the predicted places.
var horizons := PackedFloat64Array()
var offset := PackedFloat32Array()
var scale := PackedFloat32Array()
var allowed := PackedByteArray()
var features := PackedFloat32Array()
## First row of each take, and the take of each row.
var first_rows := PackedInt32Array()
var owners := PackedInt32Array()


## Reads a manifest and the database that it names.
static func open(path: String) -> MotionloomTakes:
	var out := MotionloomTakes.new()
	var text := FileAccess.get_file_as_string(path)
	var parsed: Variant = JSON.parse_string(text)
	if not parsed is Dictionary or parsed.get("format") != "motionloom takes":
		push_error("%s is not a manifest of motionloom" % path)
		return out
	out.manifest = parsed
	out.fps = parsed["fps"]
	for take: Dictionary in parsed["takes"]:
		out.names.append(take["name"])
		out.seconds.append(take["seconds"])
		out.first_rows.append(int(take.get("first_row", 0)))
	if parsed.has("matching"):
		out._read(path.get_base_dir().path_join(parsed["matching"]["file"]))
	return out


## Returns the frames of a tag or gait of a take, as pairs of first and end frame.
func ranges(take: int, tag: String) -> Array[Vector2i]:
	var out: Array[Vector2i] = []
	var about: Dictionary = manifest["takes"][take]
	for part: Dictionary in about["tags"] + about["gaits"]:
		if part["name"] == tag:
			out.append(Vector2i(int(part["start"]), int(part["end"])))
	return out


## Returns the row that is nearest to normalized features; `mask` has one byte per row.
func nearest(query: PackedFloat32Array, mask: PackedByteArray) -> int:
	var best := INF
	var winner := -1
	var at := 0
	for row in rows:
		if mask[row] != 0:
			var cost := 0.0
			for column in columns:
				var gap := features[at + column] - query[column]
				cost += gap * gap
				if cost >= best:
					break
			if cost < best:
				best = cost
				winner = row
		at += columns
	return winner


## Returns the squared distance of a row to normalized features.
func cost(row: int, query: PackedFloat32Array) -> float:
	var sum := 0.0
	for column in columns:
		var gap := features[row * columns + column] - query[column]
		sum += gap * gap
	return sum


func _read(path: String) -> void:
	var data := FileAccess.get_file_as_bytes(path)
	if data.size() < 20 or data.slice(0, 4).get_string_from_ascii() != MAGIC:
		push_error("%s is not a matching database of motionloom" % path)
		return
	var count := data.decode_u32(8)
	columns = data.decode_u32(12)
	var at := 20
	offset = data.slice(at, at + 4 * columns).to_float32_array()
	at += 4 * columns
	scale = data.slice(at, at + 4 * columns).to_float32_array()
	at += 4 * columns
	allowed = data.slice(at, at + count)
	at += (count + 3) / 4 * 4
	if data.size() < at + 2 * count * columns:
		push_error("%s is too short" % path)
		return
	rows = count
	features.resize(rows * columns)
	for number in rows * columns:
		features[number] = data.decode_half(at + 2 * number)
	owners.resize(rows)
	for take in names.size():
		var end := first_rows[take + 1] if take + 1 < names.size() else rows
		for row in range(first_rows[take], end):
			owners[row] = take
	horizons = PackedFloat64Array(manifest["matching"]["horizons"])
