"""The whole job of the Blender extension, headless; run by a Python that has bpy.

python blender_extension.py EXTENSION.zip TASK.json OUTPUT.json

TASK has the address and the token of a studio, an address where none is, and the joints of a
person. OUTPUT has what Blender showed: lines of reports, rows of the list, and for each armature
the heads of its bones at rest and in some frames, in meters, y up.
"""

import json
import math
import os
import random
import sys
import types

from waiting import LIMIT


def main(extension, task, output):
    with open(task) as file:
        given = json.load(file)
    seen = {"version": bpy.app.version_string}
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 30
    bpy.ops.extensions.package_install_files(
        filepath=extension, repo="user_default", enable_on_install=True
    )
    bpy.ops.ed.undo_push(message="start")
    preferences = bpy.context.preferences.addons["bl_ext.user_default.motionloom"].preferences
    seen["refused"] = refused(preferences, given)
    seen["connected"] = connect(preferences, given)
    seen["panels"] = panels()
    seen["found"] = find("kick")
    bpy.context.scene.motionloom.handles = 0.0
    seen["armatures"] = {}
    for make in (mixamo, metarig, generated):
        figure = make(given["person"])
        activate(figure)
        choose(given["take"])
        seen["armatures"][make.__name__] = imported(figure)
        seen["rig"] = figure.name
    figure = bpy.data.objects["mixamo"]
    activate(figure)
    seen["handles"] = handles(figure, given["take"])
    seen["similar"] = similar()
    seen["pushed"] = pushed()
    seen["aimed"] = aimed(figure, given)
    seen["walk"] = walked(figure, given)
    seen["reached"] = {
        "mixamo": reached(figure, given, given["parametric"]["bone"], 30),
        "generated": reached(bpy.data.objects[seen["rig"]], given, "ORG-foot.R", 24),
    }
    activate(figure)
    seen["sound"] = sound(figure, given)
    seen["strips"] = strips(figure, given)
    seen["modal"] = modal()
    seen["undone"] = undone(given)
    seen["unusable"] = unusable(bpy.data.objects["mixamo"])
    seen["started"] = started(preferences, given)
    bpy.ops.preferences.addon_disable(module="bl_ext.user_default.motionloom")
    seen["disabled"] = not hasattr(bpy.types.Scene, "motionloom")
    with open(output, "w") as file:
        json.dump(seen, file)


# --- steps ----------------------------------------------------------------------------------


def line(operator, **options):
    """The line that an operator reports as an error."""
    try:
        operator(**options)
    except RuntimeError as error:
        return str(error).removeprefix("Error: ").strip()
    return "no error"


def refused(preferences, given):
    operators = bpy.ops.motionloom
    preferences.address, preferences.token = given["nowhere"], given["token"]
    nobody = line(operators.connect)
    preferences.address, preferences.token = given["address"], "wrong"
    wrong = line(operators.connect)
    preferences.address, preferences.token = "http://192.0.2.1:8765", "x"
    online = line(operators.connect)
    preferences.address = "a studio somewhere"
    nonsense = line(operators.connect)
    row = line(operators.import_motion)
    return {"nobody": nobody, "wrong": wrong, "online": online, "nonsense": nonsense, "row": row}


def connect(preferences, given):
    preferences.address, preferences.token = given["address"], given["token"]
    bpy.ops.motionloom.connect()
    session = bpy.context.window_manager.motionloom
    module = sys.modules["bl_ext.user_default.motionloom.session"]
    return {
        "status": session.status,
        "rows": [row.motion for row in session.rows],
        "labels": [each.name for each in session.labels],
        "parametric": [(each.name, each.note) for each in session.parametric],
        # Without a window Blender numbers no icons; their pixels are there.
        "pictures": [pixels(module.PICTURES, row.motion) for row in session.rows],
    }


def pixels(pictures, name):
    """Size of a picture, and how many of its pixels are drawn."""
    picture = pictures._collection[name]
    values = list(picture.image_pixels_float)
    return [*picture.image_size, sum(value > 0.5 for value in values[3::4])]


def panels():
    """Draw every panel onto a layout that only looks whether everything named is there."""
    module = sys.modules["bl_ext.user_default.motionloom.panel"]
    icons = bpy.types.UILayout.bl_rna.functions["prop"].parameters["icon"].enum_items
    drawn = []

    class Layout:
        def row(self, align=False):
            return self

        def label(self, text="", icon_value=0):
            assert isinstance(text, str) and icon_value >= 0

        def prop(self, data, name, text="", icon="NONE"):
            assert name in data.bl_rna.properties and icon in icons, (name, icon)
            drawn.append(name)

        def operator(self, name, text="", icon="NONE"):
            kind, _, verb = name.partition(".")
            getattr(getattr(bpy.ops, kind), verb).get_rna_type()  # raises if there is none
            assert icon in icons, icon
            drawn.append(name)
            return types.SimpleNamespace()

        def prop_search(self, data, name, where, names):
            assert name in data.bl_rna.properties and names in where.bl_rna.properties, name

        def template_list(self, kind, key, data, source, active_data, active, rows):
            items = getattr(data, source)
            module.MOTIONLOOM_UL_rows.draw_item(
                None, bpy.context, self, data, items[0], 0, active_data, active
            )

        def template_icon(self, icon_value, scale):
            assert scale > 1.0

    for cls in module.CLASSES[1:]:
        cls.draw(types.SimpleNamespace(layout=Layout()), bpy.context)
    preferences = sys.modules["bl_ext.user_default.motionloom.session"].MotionloomPreferences
    addon = bpy.context.preferences.addons["bl_ext.user_default.motionloom"].preferences
    fields = types.SimpleNamespace(layout=Layout(), bl_rna=addon.bl_rna)
    preferences.draw(fields, bpy.context)
    return drawn


def find(words):
    session = bpy.context.window_manager.motionloom
    session.words = words
    bpy.ops.motionloom.find()
    motions = [row.motion for row in session.rows]
    session.words = ""
    bpy.ops.motionloom.find()
    return motions


def choose(take):
    session = bpy.context.window_manager.motionloom
    session.active = [row.motion for row in session.rows].index(take["motion"])
    row = session.rows[session.active]
    row.start_frame, row.end_frame = take["start_frame"], take["end_frame"]


def imported(figure):
    scene = bpy.context.scene
    scene.frame_set(11)
    bpy.ops.motionloom.import_motion()
    action = figure.animation_data.action
    first, last = (round(frame) for frame in action.frame_range)
    return {
        "status": bpy.context.window_manager.motionloom.status,
        "first": first,
        "last": last,
        "asset": asset(action),
        "rest": rest(figure),
        "placed": placed(figure),
        "heads": heads(figure, first, last, list(rest(figure))),
    }


def asset(action):
    """Tags, description and picture of an action in the asset browser; None if it is not there."""
    if action.asset_data is None:
        return None
    values = list(action.preview.image_pixels_float)
    return {
        "tags": [tag.name for tag in action.asset_data.tags],
        "description": action.asset_data.description,
        "size": list(action.preview.image_size),
        "drawn": sum(value > 0.5 for value in values[3::4]),
    }


def handles(figure, take):
    choose(take)
    session = bpy.context.window_manager.motionloom
    row = session.rows[session.active]
    row.start, row.end = take["start_frame"] / 30.0, take["end_frame"] / 30.0
    before = figure.animation_data.action
    bpy.context.scene.motionloom.handles = 0.1
    bpy.context.scene.frame_set(11)
    bpy.ops.motionloom.import_motion()
    bpy.context.scene.motionloom.handles = 0.0
    action = figure.animation_data.action
    marks = {mark.name: mark.frame for mark in action.pose_markers}
    figure.animation_data.action = before
    return {"range": [round(frame) for frame in action.frame_range], "marks": marks}


def similar():
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = (
        round(frame) for frame in bpy.data.objects["mixamo"].animation_data.action.frame_range
    )
    bpy.ops.motionloom.find_like()
    session = bpy.context.window_manager.motionloom
    segments = [(row.motion, row.start_frame, row.end_frame) for row in session.rows]
    bpy.ops.motionloom.find_similar()
    return {"like": segments, "again": [row.motion for row in session.rows]}


def pushed():
    bpy.ops.motionloom.push(name="from blender", labels="blender, kick")
    twice = line(bpy.ops.motionloom.push, name="from blender")
    rows = [row.motion for row in bpy.context.window_manager.motionloom.rows]
    return {"rows": rows, "twice": twice}


def aimed(figure, given):
    scene, chosen = bpy.context.scene, bpy.context.scene.motionloom
    nothing = line(bpy.ops.motionloom.aim)
    chosen.parametric = given["parametric"]["name"]
    nowhere = line(bpy.ops.motionloom.aim)
    empty = bpy.data.objects.new("target", None)
    scene.collection.objects.link(empty)
    chosen.target = empty
    scene.frame_set(1)
    tries = []
    for aim in given["parametric"]["aims"]:
        empty.location = from_studio(figure, Vector(aim))
        bpy.context.view_layer.update()
        bpy.ops.motionloom.aim()
        action = figure.animation_data.action
        first, last = (round(frame) for frame in action.frame_range)
        bone = given["parametric"]["bone"]
        tries.append(
            {
                "status": bpy.context.window_manager.motionloom.status,
                "action": action.name,
                "heads": heads(figure, first, last, [bone])[bone],
            }
        )
    return {"nothing": nothing, "nowhere": nowhere, "tries": tries}


def walked(figure, given):
    scene, chosen = bpy.context.scene, bpy.context.scene.motionloom
    chosen.label, chosen.seconds, chosen.seed = "walk", 4.0, 3
    bpy.ops.motionloom.walk()
    random_walk = figure.animation_data.action
    data = bpy.data.curves.new("path", "CURVE")
    data.dimensions = "3D"
    spline = data.splines.new("POLY")
    spline.points.add(1)
    for point, place in zip(spline.points, given["path"], strict=True):
        point.co = (*from_studio(figure, Vector(place)), 1.0)
    chosen.path = bpy.data.objects.new("path", data)
    scene.collection.objects.link(chosen.path)
    bpy.context.view_layer.update()
    bpy.ops.motionloom.walk()
    along = figure.animation_data.action
    first, last = (round(frame) for frame in along.frame_range)
    ends = heads(figure, first, last, ["mixamorig:Hips"])["mixamorig:Hips"]
    chosen.label, chosen.path = "dance_sway", None
    bpy.ops.motionloom.dance()
    danced = figure.animation_data.action
    return {
        "random": random_walk.frame_range[:],
        "kept": random_walk.use_fake_user,
        "ends": [ends[0], ends[-1]],
        "dance": danced.frame_range[:],
        "placed": placed(figure),
    }


def sound(figure, given):
    """A dance to a sound strip whose first second is cut off."""
    scene, chosen = bpy.context.scene, bpy.context.scene.motionloom
    editor = scene.sequence_editor_create()
    kept = editor.strips if hasattr(editor, "strips") else editor.sequences
    strip = kept.new_sound(name="song", filepath=given["song"], channel=1, frame_start=50)
    strip.frame_offset_start, strip.frame_offset_end = 30, 15
    chosen.label, chosen.sound = "dance_sway", "no such strip"
    wrong = line(bpy.ops.motionloom.dance)
    chosen.sound = strip.name
    bpy.ops.motionloom.dance()
    chosen.sound = ""
    action = figure.animation_data.action
    return {
        "wrong": wrong,
        "range": list(action.frame_range),
        "strip": [strip.frame_start, strip.frame_final_end],
        "asset": asset(action),
    }


def reached(figure, given, bone, fps):
    """Where a bone is when it should be at a target: snapped to the cloud, and between its dots."""
    scene, chosen = bpy.context.scene, bpy.context.scene.motionloom
    activate(figure)
    scene.render.fps, scene.motionloom.target = fps, None
    scene.frame_set(1)
    chosen.parametric = given["parametric"]["name"]
    bpy.ops.motionloom.show_reach()
    said = bpy.context.window_manager.motionloom.status
    cloud, target, chance = chosen.cloud, chosen.target, random.Random(5)
    dots = [cloud.matrix_world @ vertex.co for vertex in cloud.data.vertices]
    low = [min(dot[axis] for dot in dots) for axis in range(3)]
    high = [max(dot[axis] for dot in dots) for axis in range(3)]
    tries = []
    for number in range(20):
        chosen.snap = number < 10
        if chosen.snap:  # dropped anywhere around the cloud
            target.location = [chance.uniform(*ends) for ends in zip(low, high, strict=True)]
        else:
            dot = chance.choice(dots)
            near = sorted(dots, key=lambda other: (other - dot).length)[1:4]
            target.location = sum(near, dot) / 4.0
        bpy.context.view_layer.update()
        goal = target.matrix_world.translation.copy()
        bpy.ops.motionloom.aim()
        action = figure.animation_data.action
        moment = action.pose_markers["target"].frame
        here = heads(figure, moment, moment, [bone])[bone][0]
        nearest = min((dot - goal).length for dot in dots)
        tries.append({"goal": y_up(goal), "head": here, "nearest": nearest})
    shown = cloud.evaluated_get(bpy.context.evaluated_depsgraph_get())
    depsgraph = bpy.context.evaluated_depsgraph_get()
    instances = [each for each in depsgraph.object_instances if each.parent == shown]
    figure.location.x += 1.0
    bpy.context.view_layer.update()
    moved = (cloud.matrix_world @ cloud.data.vertices[0].co) - dots[0]
    figure.location.x -= 1.0
    before, renders = len(bpy.data.objects), not cloud.hide_render
    bpy.ops.motionloom.show_reach()  # deletes this cloud
    scene.render.fps, chosen.snap = 30, False
    return {
        "said": said,
        "tries": tries,
        "dots": [y_up(dot) for dot in dots],
        "instances": len(instances),
        "moved": list(moved),
        "again": len(bpy.data.objects) - before,
        "renders": renders,
        "asset": asset(action),
    }


def strips(figure, given):
    """Two imports on one track, and a third that overlaps them on another."""
    scene, chosen = bpy.context.scene, bpy.context.scene.motionloom
    choose(given["take"])
    hips = given["parametric"]["bone"]
    scene.frame_set(11)
    bpy.ops.motionloom.import_motion()
    wanted = heads(figure, 11, 40, [hips])[hips]
    chosen.strip = True
    for frame in (11, 101, 40):
        scene.frame_set(frame)
        bpy.ops.motionloom.import_motion()
    chosen.strip = False
    animated = figure.animation_data
    tracks = [
        [[strip.frame_start, strip.frame_end, strip.action.name] for strip in track.strips]
        for track in animated.nla_tracks
    ]
    shown = heads(figure, 11, 39, [hips])[hips]
    active = animated.action is not None
    for track in list(animated.nla_tracks):
        animated.nla_tracks.remove(track)
    bpy.ops.motionloom.import_motion()
    return {"tracks": tracks, "active": active, "wanted": wanted, "shown": shown}


def modal():
    """The way of the user interface: started by invoke, looked at by a timer."""
    package = "bl_ext.user_default.motionloom.operators"
    aim, find = sys.modules[f"{package}.aim"], sys.modules[f"{package}.find"]
    base = sys.modules[f"{package}.studio_operator"]
    seen, followed = [], []

    class Window:  # stands for the window manager, which has no event loop here
        motionloom = bpy.context.window_manager.motionloom
        windows = ()

        def event_timer_add(self, seconds, window):
            return "timer"

        def event_timer_remove(self, timer):
            seen.append(f"removed {timer}")

        def modal_handler_add(self, operator):
            seen.append("modal")

    class Context:
        window_manager, window = Window(), "window"
        preferences, scene = bpy.context.preferences, bpy.context.scene
        view_layer = bpy.context.view_layer

    class Aim(aim.BringOperator):
        bl_label, live, _answered = "Aim", True, None
        collect = aim.MOTIONLOOM_OT_aim.collect
        ask = staticmethod(aim.MOTIONLOOM_OT_aim.ask)
        apply = aim.MOTIONLOOM_OT_aim.apply
        modal = aim.MOTIONLOOM_OT_aim.modal

        def report(self, kind, text):
            followed.append(text)

    class Operator(base.StudioOperator):
        bl_label = "Find"
        collect = find.MOTIONLOOM_OT_find.collect
        ask = staticmethod(find.MOTIONLOOM_OT_find.ask)
        apply = find.MOTIONLOOM_OT_find.apply

        def report(self, kind, text):
            seen.append([*kind, text])

    class Event:
        type = "TIMER"

    class Blender:  # as with a window
        class app:
            background = False
            online_access = False

    context, operator, real = Context(), Operator(), base.bpy
    Window.motionloom.words = "walk"
    base.bpy = Blender
    try:
        seen.append(sorted(operator.invoke(context, Event())))
        second = Operator()
        seen.append(sorted(second.invoke(context, Event())))
    finally:
        base.bpy = real
    operator._call.wait(LIMIT)
    seen.append(sorted(operator.modal(context, Event())))
    Window.motionloom.words = ""
    bpy.ops.motionloom.find()
    # A target that is dragged is followed, until Esc.
    target, follower = bpy.context.scene.motionloom.target, Aim()
    base.bpy = types.SimpleNamespace(app=Blender.app, data=bpy.data)
    try:
        follower.invoke(context, Event())
    finally:
        base.bpy = real
    for _ in range(3):
        follower._call.wait(LIMIT)
        target.location.z -= 0.05
        bpy.context.view_layer.update()
        followed.append(sorted(follower.modal(context, Event())))
    Event.type = "ESC"
    followed.append(sorted(follower.modal(context, Event())))
    return {"find": seen, "follow": followed, "busy": Window.motionloom.busy}


def undone(given):
    def state():
        figure = bpy.data.objects["mixamo"]
        animated = figure.animation_data
        return [len(bpy.data.actions), animated.action.name if animated.action else ""]

    activate(bpy.data.objects["mixamo"])
    choose(given["take"])
    bpy.ops.ed.undo_push(message="before")
    before = state()
    bpy.ops.motionloom.import_motion()
    bpy.ops.ed.undo_push(message="import")
    after = state()
    bpy.ops.ed.undo()
    back = state()
    activate(bpy.data.objects["mixamo"])
    bpy.ops.motionloom.import_motion()
    return {"before": before, "after": after, "back": back, "again": state()}


def unusable(figure):
    figure.scale = (0.01, 0.02, 0.01)
    bpy.context.view_layer.update()
    uneven = line(bpy.ops.motionloom.import_motion)
    bpy.context.view_layer.objects.active = None
    bpy.context.scene.motionloom.armature = None
    none = line(bpy.ops.motionloom.import_motion)
    data = bpy.data.armatures.new("sticks")
    sticks = bpy.data.objects.new("sticks", data)
    bpy.context.scene.collection.objects.link(sticks)
    activate(sticks)
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(3):
        bone = data.edit_bones.new(f"stick {number}")
        bone.head, bone.tail = (0, 0, number), (0, 0, number + 1)
    editing = line(bpy.ops.motionloom.import_motion)
    bpy.ops.object.mode_set(mode="OBJECT")
    roles = line(bpy.ops.motionloom.import_motion)
    action = line(bpy.ops.motionloom.push)
    return {
        "uneven": uneven, "none": none, "roles": roles, "action": action, "editing": editing,
    }  # fmt: skip


def started(preferences, given):
    preferences.library, preferences.command = given["library"], "no-such-motionloom"
    command = line(bpy.ops.motionloom.start)
    preferences.library, preferences.command = "", given["command"]
    bpy.ops.motionloom.start()
    generated = bpy.context.window_manager.motionloom.status
    preferences.library = given["library"] + "-nowhere"
    library = line(bpy.ops.motionloom.start)
    preferences.library = given["library"]
    bpy.ops.motionloom.start()
    status = bpy.context.window_manager.motionloom.status
    own = sys.modules["bl_ext.user_default.motionloom.session"].STARTED
    address = own.address
    bpy.ops.motionloom.stop()
    after = [own.runs, own.address]  # another studio of the user may still run
    return {
        "generated": generated, "command": command, "library": library,
        "status": status, "address": address, "after": after,
    }  # fmt: skip


# --- armatures ------------------------------------------------------------------------------


def mixamo(person):
    """Mixamo's names, in centimeters, y up below a turned and scaled object, with odd rolls."""
    data = bpy.data.armatures.new("mixamo")
    figure = bpy.data.objects.new("mixamo", data)
    bpy.context.scene.collection.objects.link(figure)
    activate(figure)
    chance = random.Random(3)
    bpy.ops.object.mode_set(mode="EDIT")
    for joint in person:
        bone = data.edit_bones.new(f"mixamorig:{joint['name']}")
        bone.head = Vector(joint["head"]) * 100.0
        bone.tail = Vector(joint["tail"]) * 100.0
        bone.roll = chance.uniform(-3.0, 3.0)
        if joint["parent"] is not None:
            bone.parent = data.edit_bones[f"mixamorig:{joint['parent']}"]
    bpy.ops.object.mode_set(mode="OBJECT")
    modes = ("QUATERNION", "XYZ", "ZYX", "AXIS_ANGLE", "YXZ")
    for number, bone in enumerate(figure.pose.bones):
        bone.rotation_mode = modes[number % len(modes)]
    upright = Matrix.Rotation(math.radians(90.0), 4, "X")
    heading = Matrix.Rotation(math.radians(40.0), 4, "Z")
    figure.matrix_world = (
        Matrix.Translation((1.0, 2.0, 0.25)) @ heading @ upright @ Matrix.Scale(0.01, 4)
    )
    bpy.context.view_layer.update()
    return figure


def metarig(person):
    bpy.ops.preferences.addon_enable(module="rigify")
    bpy.ops.object.armature_basic_human_metarig_add()
    figure = bpy.context.object
    figure.location = (-2.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    return figure


def generated(person):
    bpy.ops.object.armature_basic_human_metarig_add()
    bpy.ops.pose.rigify_generate()
    figure = bpy.context.object
    figure.matrix_world = Matrix.Translation((0.0, -3.0, 0.0)) @ Matrix.Rotation(1.0, 4, "Z")
    bpy.context.view_layer.update()
    return figure


def activate(figure):
    for thing in bpy.context.view_layer.objects:
        thing.select_set(thing == figure)
    bpy.context.view_layer.objects.active = figure


def rest(figure):
    """Bones at rest, in the world, y up: head, tail and parent."""
    return {
        bone.name: {
            "head": y_up(figure.matrix_world @ bone.head_local),
            "tail": y_up(figure.matrix_world @ bone.tail_local),
            "parent": bone.parent.name if bone.parent else None,
        }
        for bone in figure.data.bones
        if bone.name.startswith("ORG-") or "torso" not in figure.data.bones
    }


def heads(figure, first, last, names):
    """Heads of bones in frames of the scene, both included, in the world, y up."""
    places, scene = {name: [] for name in names}, bpy.context.scene
    for frame in range(first, last + 1):
        scene.frame_set(frame)
        shown = figure.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for name in names:
            places[name].append(y_up(shown.matrix_world @ shown.pose.bones[name].head))
    return places


def placed(figure):
    """Origin of an armature in the world, y up, and its heading in radians."""
    w, _, _, z = figure.matrix_world.to_quaternion()
    return {"origin": y_up(figure.matrix_world.translation), "heading": 2.0 * math.atan2(z, w)}


def from_studio(figure, point):
    """A point relative to an armature (y up, facing +Z) in Blender's world."""
    here = placed(figure)
    turned = Matrix.Rotation(here["heading"], 3, "Z") @ Vector((point.x, -point.z, point.y))
    return figure.matrix_world.translation + turned


def y_up(point):
    return [point.x, point.z, -point.y]


if __name__ == "__main__":  # elsewhere there is no Blender to import
    import bpy
    from mathutils import Matrix, Vector

    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # bpy 4.5 may wait indefinitely for one of its threads when Python exits
