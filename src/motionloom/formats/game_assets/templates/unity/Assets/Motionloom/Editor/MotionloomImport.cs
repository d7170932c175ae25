using System.Collections.Generic;
using System.IO;
using UnityEditor;
using UnityEngine;

/// <summary>Imports the files of a motionloom export: root motion, loops, footsteps, and names of takes.</summary>
public class MotionloomImport : AssetPostprocessor
{
    private const string Manifest = "takes.json";

    private MotionloomTakes Takes()
    {
        string path = Path.Combine(Path.GetDirectoryName(assetPath) ?? "", Manifest);
        return File.Exists(path) ? MotionloomTakes.Parse(File.ReadAllText(path)) : null;
    }

    private bool IsOurs(MotionloomTakes takes)
    {
        string name = Path.GetFileName(assetPath);
        return takes != null
            && (name == "character.fbx" || System.Array.Exists(takes.takes, take => take.file == name));
    }

    private void OnPreprocessModel()
    {
        MotionloomTakes takes = Takes();
        if (!IsOurs(takes))
        {
            return;
        }
        var importer = (ModelImporter)assetImporter;
        importer.animationType = ModelImporterAnimationType.Generic;
        importer.avatarSetup = ModelImporterAvatarSetup.CreateFromThisModel;
        importer.motionNodeName = takes.skeleton.root;
        importer.animationCompression = ModelImporterAnimationCompression.Off;
        importer.resampleCurves = false;
    }

    private void OnPreprocessAnimation()
    {
        MotionloomTakes takes = Takes();
        if (!IsOurs(takes))
        {
            return;
        }
        var importer = (ModelImporter)assetImporter;
        var clips = new List<ModelImporterClipAnimation>();
        foreach (ModelImporterClipAnimation clip in importer.defaultClipAnimations)
        {
            MotionloomTakes.Take take = takes.Find(clip.takeName) ?? takes.Find(clip.name);
            if (take == null)
            {
                clips.Add(clip);
                continue;
            }
            clip.name = take.name;
            clip.events = Events(take, 0f, take.seconds);
            clips.Add(clip);
            if (take.Repeats)
            {
                clips.Add(LoopOf(clip, take, takes.fps));
            }
        }
        importer.clipAnimations = clips.ToArray();
    }

    private static ModelImporterClipAnimation LoopOf(
        ModelImporterClipAnimation clip, MotionloomTakes.Take take, float fps)
    {
        return new ModelImporterClipAnimation
        {
            name = take.name + "_loop",
            takeName = clip.takeName,
            firstFrame = take.loop.start,
            lastFrame = take.loop.end,
            loopTime = true,
            loopPose = true,
            events = Events(take, take.loop.start / fps, take.loop.end / fps),
        };
    }

    private static AnimationEvent[] Events(MotionloomTakes.Take take, float start, float end)
    {
        var events = new List<AnimationEvent>();
        foreach (MotionloomTakes.Footstep step in take.footsteps)
        {
            if (step.time >= start && step.time < end)
            {
                events.Add(new AnimationEvent
                {
                    functionName = "Footstep",
                    stringParameter = step.foot,
                    time = (step.time - start) / Mathf.Max(end - start, 1e-3f),
                    messageOptions = SendMessageOptions.DontRequireReceiver,
                });
            }
        }
        return events.ToArray();
    }
}
