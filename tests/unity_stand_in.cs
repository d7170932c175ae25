// Stand-in for the part of Unity's API that the exported scripts use, after Unity's documentation.
// A program that imports one model: mono program.exe MODEL TAKE...
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.Serialization.Json;

namespace UnityEngine
{
    public static class JsonUtility
    {
        public static T FromJson<T>(string json)
        {
            var bytes = System.Text.Encoding.UTF8.GetBytes(json);
            return (T)new DataContractJsonSerializer(typeof(T)).ReadObject(new MemoryStream(bytes));
        }
    }

    public static class Mathf
    {
        public static float Max(float a, float b) { return Math.Max(a, b); }
    }

    public enum SendMessageOptions { RequireReceiver, DontRequireReceiver }

    public sealed class AnimationEvent
    {
        public string functionName { get; set; }
        public string stringParameter { get; set; }
        public float time { get; set; }
        public SendMessageOptions messageOptions { get; set; }
    }
}

namespace UnityEditor
{
    public enum ModelImporterAnimationType { None, Legacy, Generic, Human }
    public enum ModelImporterAvatarSetup { NoAvatar, CreateFromThisModel, CopyFromOther }
    public enum ModelImporterAnimationCompression { Off, KeyframeReduction, Optimal }

    public class AssetImporter
    {
        public string assetPath { get; set; }
    }

    public class AssetPostprocessor
    {
        public string assetPath { get; set; }
        public AssetImporter assetImporter { get; set; }
    }

    public class ModelImporterClipAnimation
    {
        public string name { get; set; }
        public string takeName { get; set; }
        public float firstFrame { get; set; }
        public float lastFrame { get; set; }
        public bool loopTime { get; set; }
        public bool loopPose { get; set; }
        public UnityEngine.AnimationEvent[] events { get; set; }
    }

    public class ModelImporter : AssetImporter
    {
        public ModelImporterAnimationType animationType { get; set; }
        public ModelImporterAvatarSetup avatarSetup { get; set; }
        public ModelImporterAnimationCompression animationCompression { get; set; }
        public string motionNodeName { get; set; }
        public bool resampleCurves { get; set; }
        public ModelImporterClipAnimation[] defaultClipAnimations { get; set; }
        public ModelImporterClipAnimation[] clipAnimations { get; set; }
    }
}

public static class Program
{
    public static void Main(string[] words)
    {
        var importer = new UnityEditor.ModelImporter { assetPath = words[0] };
        var clips = new List<UnityEditor.ModelImporterClipAnimation>();
        for (int k = 1; k < words.Length; k++)
        {
            clips.Add(new UnityEditor.ModelImporterClipAnimation { name = words[k], takeName = words[k] });
        }
        importer.defaultClipAnimations = clips.ToArray();
        var script = new MotionloomImport { assetPath = words[0], assetImporter = importer };
        foreach (string step in new[] { "OnPreprocessModel", "OnPreprocessAnimation" })
        {
            script.GetType().GetMethod(step, BindingFlags.Instance | BindingFlags.NonPublic)
                .Invoke(script, null);
        }
        Console.WriteLine("model {0} {1}", importer.animationType, importer.motionNodeName);
        foreach (var clip in importer.clipAnimations ?? clips.ToArray())
        {
            Console.WriteLine("clip {0} {1} {2} {3} {4}", clip.name, clip.takeName, clip.firstFrame,
                clip.lastFrame, clip.loopTime);
            foreach (var each in clip.events ?? new UnityEngine.AnimationEvent[0])
            {
                Console.WriteLine("event {0} {1:0.0000}", each.stringParameter, each.time);
            }
        }
    }
}
