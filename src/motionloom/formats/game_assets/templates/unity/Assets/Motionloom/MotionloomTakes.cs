using System;
using UnityEngine;

/// <summary>Content of takes.json, written by motionloom. Ranges exclude their end; events are in seconds.</summary>
[Serializable]
public class MotionloomTakes
{
    [Serializable]
    public class Range
    {
        public string name;
        public int start;
        public int end;
    }

    [Serializable]
    public class Footstep
    {
        public float time;
        public string foot;
    }

    [Serializable]
    public class Loop
    {
        public int start;
        public int end;
        public float gap_m;
    }

    [Serializable]
    public class Speed
    {
        public float mean;
        public float slow;
        public float fast;
    }

    [Serializable]
    public class Take
    {
        public string name;
        public string source;
        public string file;
        public int frames;
        public float seconds;
        public bool mirrored;
        public bool generated;
        public Range[] tags;
        public Range[] gaits;
        public Speed speed_m_s;
        public float travel_m;
        public float turn_degrees;
        public Footstep[] footsteps;
        public float[] beats;
        public Loop loop;

        /// <summary>Whether the take repeats between the frames of its loop.</summary>
        public bool Repeats => loop != null && loop.end > loop.start;
    }

    [Serializable]
    public class Bones
    {
        public string root;
        public string[] bones;
    }

    public string format;
    public int version;
    public float fps;
    public Bones skeleton;
    public Take[] takes;

    /// <summary>Reads the text of takes.json.</summary>
    public static MotionloomTakes Parse(string json)
    {
        var read = JsonUtility.FromJson<MotionloomTakes>(json);
        if (read == null || read.format != "motionloom takes")
        {
            throw new FormatException("not a manifest of motionloom");
        }
        return read;
    }

    /// <summary>Returns a take by name, or null.</summary>
    public Take Find(string name)
    {
        return Array.Find(takes, take => take.name == name);
    }
}
