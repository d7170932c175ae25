"""Skeletons as the tools of the field name them, with the role each joint should get.

An outline: one joint per line, children indented by two spaces, ``name = role``. ``*`` is
an end site. A subtree whose name holds ``{S}`` is written once and stands for both sides;
``{S}`` becomes the rig's words for left and right, and its roles get ``left_``/``right_``.
"""

from __future__ import annotations

import re

import numpy as np

from motionloom.motion import Skeleton

ARM_HUMANIK = """
    {S}Shoulder = collar
      {S}Arm = shoulder
        {S}ForeArm = elbow
          {S}Hand = wrist"""
LEG_HUMANIK = """
  {S}UpLeg = hip
    {S}Leg = knee
      {S}Foot = ankle"""

# rig -> (words for left and right, outline)
RIGS: dict[str, tuple[tuple[str, str], str]] = {
    "cmu": (("Left", "Right"), """
Hips = hips
  {S1}HipJoint @0
    {S}UpLeg = hip
      {S}Leg = knee
        {S}Foot = ankle
          {S}ToeBase = foot
            * = toe
  LowerBack @0
    Spine = spine
      Spine1 = chest
        Neck @0
          Neck1 = neck
            Head = head
              * = head_top
        {S}Shoulder = collar @0
          {S}Arm = shoulder
            {S}ForeArm = elbow
              {S}Hand = wrist
                {S}FingerBase @0
                  {S}HandIndex1 = hand
                    *
                {S1}Thumb @0
                  *
"""),
    "acclaim": (("l", "r"), """
root = hips
  {S}hipjoint
    {S}femur = hip
      {S}tibia = knee
        {S}foot = ankle
          {S}toes = foot
            * = toe
  lowerback = spine
    upperback
      thorax = chest
        lowerneck = neck
          upperneck
            head = head
              * = head_top
        {S}clavicle = collar
          {S}humerus = shoulder
            {S}radius = elbow
              {S}wrist = wrist
                {S}hand
                  {S}fingers = hand
                    *
                {S}thumb
                  *
"""),
    "humanik": (("Left", "Right"), """
Reference
  Hips = hips
    {S}UpLeg = hip
      {S}UpLegRoll
      {S}Leg = knee
        {S}LegRoll
        {S}Foot = ankle
          {S}ToeBase = foot
            {S}FootMiddle1
              {S}FootMiddle2 = toe
    Spine = spine
      Spine1
        Spine2
          Spine3 = chest
            {S}Shoulder = collar
              {S}Arm = shoulder
                {S}ArmRoll
                {S}ForeArm = elbow
                  {S}ForeArmRoll
                  {S}Hand = wrist
                    {S}HandThumb1
                      {S}HandThumb2
                    {S}HandIndex1
                      {S}HandIndex2
                    {S}HandMiddle1 = hand
                      {S}HandMiddle2
                    {S}HandRing1
                    {S}HandPinky1
            Neck = neck
              Neck1
                Head = head
                  * = head_top
"""),
    "humanik with a character prefix": (("Left", "Right"), """
Character1_Reference
  Character1_Hips = hips
    Character1_{S}UpLeg = hip
      Character1_{S}Leg = knee
        Character1_{S}Foot = ankle
          Character1_{S}ToeBase = foot
            * = toe
          {S1}_Talus_RIGMESH
            *
        {S1}_Tibia_RIGMESH
          *
    Pelvis_RIGMESH
      *
    Character1_Spine = spine
      Character1_Spine1 = chest
        Character1_{S}Shoulder = collar
          Character1_{S}Arm = shoulder
            Character1_{S}ForeArm = elbow
              Character1_{S}Hand = wrist
                * = hand
        Character1_Neck = neck
          Character1_Head = head
            * = head_top
"""),
    "mixamo": (("Left", "Right"), """
mixamorig:Hips = hips
  mixamorig:Spine = spine
    mixamorig:Spine1
      mixamorig:Spine2 = chest
        mixamorig:Neck = neck
          mixamorig:Head = head
            mixamorig:HeadTop_End = head_top
              *
            mixamorig:{S}Eye
              *
        mixamorig:{S}Shoulder = collar
          mixamorig:{S}Arm = shoulder
            mixamorig:{S}ForeArm = elbow
              mixamorig:{S}Hand = wrist
                mixamorig:{S}HandThumb1
                  mixamorig:{S}HandThumb2
                    *
                mixamorig:{S}HandIndex1
                  mixamorig:{S}HandIndex2
                    *
                mixamorig:{S}HandMiddle1 = hand
                  mixamorig:{S}HandMiddle2
                    *
  mixamorig:{S}UpLeg = hip
    mixamorig:{S}Leg = knee
      mixamorig:{S}Foot = ankle
        mixamorig:{S}ToeBase = foot
          mixamorig:{S}Toe_End = toe
            *
"""),
    "mixamo without a colon": (("Left", "Right"), """
mixamorigHips_01 = hips
  mixamorigSpine_02 = spine
    mixamorigSpine1_03 = chest
      mixamorigNeck_05 = neck
        mixamorigHead_06 = head
          mixamorigHeadTop_End_07 = head_top
      mixamorig{S}Shoulder_08 = collar
        mixamorig{S}Arm_09 = shoulder
          mixamorig{S}ForeArm_010 = elbow
            mixamorig{S}Hand_011 = wrist
  mixamorig{S}UpLeg_055 = hip
    mixamorig{S}Leg_056 = knee
      mixamorig{S}Foot_057 = ankle
        mixamorig{S}ToeBase_058 = foot
          mixamorig{S}Toe_End_059 = toe
"""),
    "z up with hand ends": (("Left", "Right"), """
Hips = hips
  Spine = spine
    Spine1
      Spine2
        Spine3 = chest
          Neck = neck
            Head = head
              * = head_top
          {S}Shoulder = collar
            {S}Arm = shoulder
              {S}ForeArm = elbow
                {S}Hand = wrist
                  {S}HandThumb1
                    *
                  {S}HandEnd = hand
                    *
  {S}UpLeg = hip
    {S}Leg = knee
      {S}Foot = ankle
        {S}ToeBase = foot
          * = toe
"""),
    "lafan1": (("Left", "Right"), """
Hips = hips
  {S}UpLeg = hip
    {S}Leg = knee
      {S}Foot = ankle
        {S}Toe = foot
          * = toe
  Spine = spine
    Spine1
      Spine2 = chest
        Neck = neck
          Head = head
            * = head_top
        {S}Shoulder = collar
          {S}Arm = shoulder
            {S}ForeArm = elbow
              {S}Hand = wrist
                * = hand
"""),
    "smpl": (("left", "right"), """
pelvis = hips
  {S}_hip = hip
    {S}_knee = knee
      {S}_ankle = ankle
        {S}_foot = foot, toe
  spine1 = spine
    spine2
      spine3 = chest
        neck = neck
          head = head
        {S}_collar = collar
          {S}_shoulder = shoulder
            {S}_elbow = elbow
              {S}_wrist = wrist
                {S}_hand = hand
"""),
    "smpl-x": (("left", "right"), """
pelvis = hips
  {S}_hip = hip
    {S}_knee = knee
      {S}_ankle = ankle
        {S}_foot = foot, toe
  spine1 = spine
    spine2
      spine3 = chest
        neck = neck
          head = head
            jaw
            {S}_eye_smplhf
        {S}_collar = collar
          {S}_shoulder = shoulder
            {S}_elbow = elbow
              {S}_wrist = wrist
                {S}_index1
                  {S}_index2
                {S}_middle1 = hand
                  {S}_middle2
                {S}_pinky1
                {S}_ring1
                {S}_thumb1
"""),
    "smpl short": (("L", "R"), """
Pelvis = hips
  {S}_Hip = hip
    {S}_Knee = knee
      {S}_Ankle = ankle
        {S}_Toe = foot
          * = toe
  Torso = spine
    Spine
      Chest = chest
        Neck = neck
          Head = head
            * = head_top
        {S}_Thorax = collar
          {S}_Shoulder = shoulder
            {S}_Elbow = elbow
              {S}_Wrist = wrist
                {S}_Hand = hand
                  *
"""),
    "smpl in Unity": (("L", "R"), """
m_avg_root
  m_avg_Pelvis = hips
    m_avg_{S}_Hip = hip
      m_avg_{S}_Knee = knee
        m_avg_{S}_Ankle = ankle
          m_avg_{S}_Foot = foot, toe
    m_avg_Spine1 = spine
      m_avg_Spine2
        m_avg_Spine3 = chest
          m_avg_Neck = neck
            m_avg_Head = head
          m_avg_{S}_Collar = collar
            m_avg_{S}_Shoulder = shoulder
              m_avg_{S}_Elbow = elbow
                m_avg_{S}_Wrist = wrist
                  m_avg_{S}_Hand = hand
"""),
    "smpl glued": (("l", "r"), """
pelvis = hips
  {S}hip = hip
    {S}knee = knee
      {S}ankle = ankle
        {S}foot = foot, toe
  spine1 = spine
    spine3 = chest
      neck = neck
        head = head
      {S}collar = collar
        {S}shoulder = shoulder
          {S}elbow = elbow
            {S}wrist = wrist
              {S}hand = hand
"""),
    "biped": (("L", "R"), """
Bip01
  Bip01 Footsteps
    *
  Bip01 Pelvis = hips
    Bip01 Spine = spine
      Bip01 Spine1
        Bip01 Spine2 = chest
          Bip01 Neck = neck
            Bip01 Head = head
              Bip01 HeadNub = head_top
                *
              Bip01 Ponytail1
                *
          Bip01 {S} Clavicle = collar
            Bip01 {S} UpperArm = shoulder
              Bip01 {S} ForeTwist
              Bip01 {S} Forearm = elbow
                Bip01 {S} Hand = wrist
                  Bip01 {S} Finger0
                    Bip01 {S} Finger01
                      Bip01 {S} Finger0Nub
                  Bip01 {S} Finger1
                  Bip01 {S} Finger2 = hand
                    Bip01 {S} Finger21
                  Bip01 {S} Finger3
                  Bip01 {S} Finger4
    Bip01 {S} Thigh = hip
      Bip01 {S} Calf = knee
        Bip01 {S} Foot = ankle
          Bip01 {S} Toe0 = foot
            Bip01 {S} Toe0Nub = toe
              *
"""),
    "biped with thighs on the spine, collars on the neck": (("L", "R"), """
Bip001
  Bip001_Pelvis = hips
    Bip001_Spine = spine
      Bip001_{S}_Thigh = hip
        Bip001_{S}_Calf = knee
          Bip001_{S}_Foot = ankle
            Bip001_{S}_Toe0 = foot
              * = toe
      Bip001_Spine1 = chest
        Bip001_Neck = neck
          Bip001_Head = head
            * = head_top
          Bip001_{S}_Clavicle = collar
            Bip001_{S}_UpperArm = shoulder
              Bip001_{S}_Forearm = elbow
                Bip001_{S}_Hand = wrist
                  Bip001_{S}_Finger0 = hand
"""),
    "source engine": (("L", "R"), """
ValveBiped.Bip01_Pelvis = hips
  ValveBiped.Bip01_{S}_Thigh = hip
    ValveBiped.Bip01_{S}_Calf = knee
      ValveBiped.Bip01_{S}_Foot = ankle
        ValveBiped.Bip01_{S}_Toe0 = foot, toe
  ValveBiped.Bip01_Spine = spine
    ValveBiped.Bip01_Spine1
      ValveBiped.Bip01_Spine4 = chest
        ValveBiped.Bip01_Neck1 = neck
          ValveBiped.Bip01_Head1 = head
        ValveBiped.Bip01_{S}_Clavicle = collar
          ValveBiped.Bip01_{S}_UpperArm = shoulder
            ValveBiped.Bip01_{S}_Forearm = elbow
              ValveBiped.Bip01_{S}_Hand = wrist
                ValveBiped.Anim_Attachment_{S}H
"""),
    "perception neuron": (("Left", "Right"), """
Robot_Hips = hips
  Robot_{S}UpLeg = hip
    Robot_{S}Leg = knee
      Robot_{S}Foot = ankle
        * = foot, toe
  Robot_Spine = spine
    Robot_Spine1
      Robot_Spine2
        Robot_Spine3 = chest
          Robot_Neck = neck
            Robot_Head = head
              * = head_top
          Robot_{S}Shoulder = collar
            Robot_{S}Arm = shoulder
              Robot_{S}ForeArm = elbow
                Robot_{S}Hand = wrist
                  Robot_{S}HandThumb1
                    *
                  Robot_{S}InHandIndex
                    Robot_{S}HandIndex1
                      *
                  Robot_{S}InHandMiddle
                    Robot_{S}HandMiddle1 = hand
                      *
"""),
    "rokoko": (("Left", "Right"), """
Hips = hips
  Spine1 = spine
    Spine2
      Spine3
        Spine4 = chest
          Neck = neck
            Head = head
              * = head_top
          {S}Shoulder = collar
            {S}Arm = shoulder
              {S}ForeArm = elbow
                {S}Hand = wrist
                  {S}Finger1Metacarpal
                    {S}Finger1Proximal
                  {S}Finger3Metacarpal
                    {S}Finger3Proximal = hand
                  {S}Finger5Metacarpal
                    {S}Finger5Proximal
  {S}Thigh = hip
    {S}Shin = knee
      {S}Foot = ankle
        {S}Toe = foot
          {S}ToeTip = toe
            *
"""),
    "xsens": (("Left", "Right"), """
Hips = hips
  Chest = spine
    Chest2
      Chest3
        Chest4 = chest
          Neck = neck
            Head = head
              * = head_top
          {S}Collar = collar
            {S}Shoulder = shoulder
              {S}Elbow = elbow
                {S}Wrist = wrist
                  * = hand
  {S}Hip = hip
    {S}Knee = knee
      {S}Ankle = ankle
        {S}Toe = foot
          * = toe
"""),
    "xsens mvn": (("Left", "Right"), """
Pelvis = hips
  L5 = spine
    L3
      T12
        T8 = chest
          Neck = neck
            Head = head
              * = head_top
          {S}Shoulder = collar
            {S}UpperArm = shoulder
              {S}ForeArm = elbow
                {S}Hand = wrist
                  * = hand
  {S}UpperLeg = hip
    {S}LowerLeg = knee
      {S}Foot = ankle
        {S}Toe = foot
          * = toe
"""),
    "bandai-namco": (("L", "R"), """
joint_Root
  Hips = hips
    Spine = spine
      Chest = chest
        Neck = neck
          Head = head
            * = head_top
        Shoulder_{S} = collar
          UpperArm_{S} = shoulder
            LowerArm_{S} = elbow
              Hand_{S} = wrist
                * = hand
    UpperLeg_{S} = hip
      LowerLeg_{S} = knee
        Foot_{S} = ankle
          Toes_{S} = foot
            * = toe
"""),
    "rigify": (("L", "R"), """
spine = hips
  spine.001 = spine
    spine.002
      spine.003 = chest
        spine.004 = neck
          spine.005
            spine.006 = head
              * = head_top
        shoulder.{S} = collar
          upper_arm.{S} = shoulder
            forearm.{S} = elbow
              hand.{S} = wrist
                palm.01.{S}
                  f_index.01.{S}
                  thumb.01.{S}
                palm.02.{S}
                  f_middle.01.{S} = hand
        breast.{S}
          *
  pelvis.{S}
    *
  thigh.{S} = hip
    shin.{S} = knee
      foot.{S} = ankle
        heel.02.{S}
          *
        toe.{S} = foot
          * = toe
"""),
    "rigify deform bones": (("L", "R"), """
DEF-spine = hips
  DEF-spine.001 = spine
    DEF-spine.003 = chest
      DEF-spine.004 = neck
        DEF-spine.006 = head
      DEF-shoulder.{S} = collar
        DEF-upper_arm.{S} = shoulder
          DEF-upper_arm.{S}.001
            DEF-forearm.{S} = elbow
              DEF-forearm.{S}.001
                DEF-hand.{S} = wrist
  DEF-thigh.{S} = hip
    DEF-thigh.{S}.001
      DEF-shin.{S} = knee
        DEF-shin.{S}.001
          DEF-foot.{S} = ankle
            DEF-toe.{S} = foot, toe
"""),
    "poser": (("l", "r"), """
BODY
  hip = hips
    abdomen = spine
      chest = chest
        neck = neck
          head = head
            leftEye
              *
            rightEye
              *
            * = head_top
        {S}Collar = collar
          {S}Shldr = shoulder
            {S}ForeArm = elbow
              {S}Hand = wrist
                {S}Thumb1
                  *
                {S}Index1
                  *
                {S}Mid1 = hand
                  *
    {S}Buttock
      {S}Thigh = hip
        {S}Shin = knee
          {S}Foot = ankle
            {S}Toe = foot
              * = toe
"""),
    "daz": (("l", "r"), """
Genesis8Male
  hip = hips
    pelvis
      {S}ThighBend = hip
        {S}ThighTwist
          {S}Shin = knee
            {S}Foot = ankle
              {S}Metatarsals = foot
                {S}Toe = toe
    abdomenLower = spine
      abdomenUpper
        chestLower
          chestUpper = chest
            neckLower = neck
              neckUpper
                head = head
                  upperFaceRig
            {S}Collar = collar
              {S}ShldrBend = shoulder
                {S}ShldrTwist
                  {S}ForearmBend = elbow
                    {S}ForearmTwist
                      {S}Hand = wrist
                        {S}Thumb1
                        {S}Carpal1
                          {S}Index1
                        {S}Carpal2
                          {S}Mid1 = hand
          {S}Pectoral
"""),
    "unreal": (("l", "r"), """
root
  pelvis = hips
    spine_01 = spine
      spine_02
        spine_03 = chest
          clavicle_{S} = collar
            upperarm_{S} = shoulder
              lowerarm_{S} = elbow
                hand_{S} = wrist
                  index_01_{S}
                  middle_01_{S} = hand
                    middle_02_{S}
                  thumb_01_{S}
                lowerarm_twist_01_{S}
              upperarm_twist_01_{S}
          neck_01 = neck
            head = head
    thigh_{S} = hip
      calf_{S} = knee
        calf_twist_01_{S}
        foot_{S} = ankle
          ball_{S} = foot, toe
      thigh_twist_01_{S}
  ik_foot_root
    ik_foot_{S}
  ik_hand_root
    ik_hand_gun
      ik_hand_{S}
"""),
    "unity": (("Left", "Right"), """
Armature
  Hips = hips
    Spine = spine
      Chest
        UpperChest = chest
          Neck = neck
            Head = head
              Jaw
          {S}Shoulder = collar
            {S}UpperArm = shoulder
              {S}LowerArm = elbow
                {S}Hand = wrist
                  {S}ThumbProximal
                  {S}IndexProximal
                  {S}MiddleProximal = hand
                    {S}MiddleIntermediate
    {S}UpperLeg = hip
      {S}LowerLeg = knee
        {S}Foot = ankle
          {S}Toes = foot, toe
"""),
    "kinect 2": (("Left", "Right"), """
SpineBase = hips
  SpineMid = spine
    SpineShoulder = chest
      Neck = neck
        Head = head
      Shoulder{S} = shoulder
        Elbow{S} = elbow
          Wrist{S} = wrist
            Hand{S} = hand
              HandTip{S}
            Thumb{S}
  Hip{S} = hip
    Knee{S} = knee
      Ankle{S} = ankle
        Foot{S} = foot, toe
"""),
    "azure kinect": (("LEFT", "RIGHT"), """
PELVIS = hips
  SPINE_NAVEL = spine
    SPINE_CHEST = chest
      NECK = neck
        HEAD = head
          NOSE
          EYE_{S}
          EAR_{S}
      CLAVICLE_{S} = collar
        SHOULDER_{S} = shoulder
          ELBOW_{S} = elbow
            WRIST_{S} = wrist
              HAND_{S} = hand
                HANDTIP_{S}
              THUMB_{S}
  HIP_{S} = hip
    KNEE_{S} = knee
      ANKLE_{S} = ankle
        FOOT_{S} = foot, toe
"""),
    "openpose": (("L", "R"), """
MidHip = hips
  Neck = chest, neck
    Nose = head
      {S}Eye
        {S}Ear
    {S}Shoulder = shoulder
      {S}Elbow = elbow
        {S}Wrist = wrist
  {S}Hip = hip
    {S}Knee = knee
      {S}Ankle = ankle
        {S}BigToe = foot, toe
        {S}SmallToe
        {S}Heel
"""),
    "human 3.6m": (("L", "R"), """
Hip = hips
  {S}Hip = hip
    {S}Knee = knee
      {S}Foot = ankle
  Spine = spine
    Thorax = chest
      Neck = neck
        Head = head
      {S}Shoulder = shoulder
        {S}Elbow = elbow
          {S}Wrist = wrist
"""),
    "makehuman": (("L", "R"), """
root = hips
  pelvis.{S}
    upperleg01.{S} = hip
      upperleg02.{S}
        lowerleg01.{S} = knee
          lowerleg02.{S}
            foot.{S} = ankle
              toe1-1.{S} = foot
                toe1-2.{S} = toe
              toe2-1.{S}
  spine05 = spine
    spine04
      spine03
        spine02
          spine01 = chest
            neck01 = neck
              neck02
                head = head
                  jaw
            clavicle.{S} = collar
              shoulder01.{S}
                upperarm01.{S} = shoulder
                  upperarm02.{S}
                    lowerarm01.{S} = elbow
                      lowerarm02.{S}
                        wrist.{S} = wrist
                          finger1-1.{S}
                          metacarpal1.{S}
                            finger2-1.{S}
                          metacarpal2.{S}
                            finger3-1.{S} = hand
                          metacarpal3.{S}
                            finger4-1.{S}
                          metacarpal4.{S}
                            finger5-1.{S}
          breast.{S}
"""),
    "vrm": (("L", "R"), """
Root
  J_Bip_C_Hips = hips
    J_Bip_C_Spine = spine
      J_Bip_C_Chest
        J_Bip_C_UpperChest = chest
          J_Bip_C_Neck = neck
            J_Bip_C_Head = head
              J_Adj_{S}_FaceEye
              J_Sec_Hair1_01
          J_Bip_{S}_Shoulder = collar
            J_Bip_{S}_UpperArm = shoulder
              J_Bip_{S}_LowerArm = elbow
                J_Bip_{S}_Hand = wrist
                  J_Bip_{S}_Index1
                  J_Bip_{S}_Middle1 = hand
          J_Sec_{S}_Bust1
    J_Bip_{S}_UpperLeg = hip
      J_Sec_{S}_CoatSkirtFront
      J_Bip_{S}_LowerLeg = knee
        J_Bip_{S}_Foot = ankle
          J_Bip_{S}_ToeBase = foot, toe
"""),
    "second life": (("Left", "Right"), """
mPelvis = hips
  mTorso = spine
    mChest = chest
      mNeck = neck
        mHead = head
          mSkull = head_top
          mEye{S}
      mCollar{S} = collar
        mShoulder{S} = shoulder
          mElbow{S} = elbow
            mWrist{S} = wrist
              mHandMiddle1{S} = hand
              mHandThumb1{S}
  mHip{S} = hip
    mKnee{S} = knee
      mAnkle{S} = ankle
        mFoot{S} = foot
          mToe{S} = toe
"""),
    "mocopi": (("l", "r"), """
root = hips
  torso_1 = spine
    torso_2
      torso_7 = chest
        neck_1 = neck
          neck_2
            head = head
              * = head_top
        {S}_shoulder = collar
          {S}_up_arm = shoulder
            {S}_low_arm = elbow
              {S}_hand = wrist
                * = hand
  {S}_up_leg = hip
    {S}_low_leg = knee
      {S}_foot = ankle
        {S}_toes = foot
          * = toe
"""),
    "character creator": (("L", "R"), """
CC_Base_BoneRoot
  CC_Base_Hip = hips
    CC_Base_Pelvis
      CC_Base_{S}_Thigh = hip
        CC_Base_{S}_Calf = knee
          CC_Base_{S}_Foot = ankle
            CC_Base_{S}_ToeBase = foot, toe
        CC_Base_{S}_ThighTwist01
    CC_Base_Waist = spine
      CC_Base_Spine01
        CC_Base_Spine02 = chest
          CC_Base_NeckTwist01 = neck
            CC_Base_NeckTwist02
              CC_Base_Head = head
                CC_Base_FacialBone
          CC_Base_{S}_Clavicle = collar
            CC_Base_{S}_Upperarm = shoulder
              CC_Base_{S}_Forearm = elbow
                CC_Base_{S}_Hand = wrist
                  CC_Base_{S}_Mid1 = hand
                  CC_Base_{S}_Index1
"""),
    "capitals": (("LEFT", "RIGHT"), """
HIPS = hips
  {S}UPLEG = hip
    {S}LEG = knee
      {S}FOOT = ankle
        {S}TOEBASE = foot
          * = toe
  SPINE = spine
    CHEST = chest
      NECK = neck
        HEAD = head
          * = head_top
      {S}SHOULDER = collar
        {S}ARM = shoulder
          {S}FOREARM = elbow
            {S}HAND = wrist
              * = hand
"""),
    "lower case": (("left", "right"), """
hips = hips
  {S}upleg = hip
    {S}leg = knee
      {S}foot = ankle
        {S}toebase = foot
          * = toe
  spine = spine
    chest = chest
      neck = neck
        head = head
          * = head_top
      {S}shoulder = collar
        {S}arm = shoulder
          {S}forearm = elbow
            {S}hand = wrist
              * = hand
"""),
    "joint suffixes": (("L", "R"), """
Root_JNT
  {S}_leg_upper_JNT = hip
    {S}_leg_lower_JNT = knee
      {S}_ankle_JNT = ankle
        {S}_ball_JNT = foot
          {S}_toe_END_JNT = toe
  Pelvis_JNT = hips
    Spine-01_JNT = spine
      Spine-02_JNT = chest
        Neck_JNT = neck
          Head_JNT = head
            HeadEnd_JNT = head_top
        {S}_clav_JNT = collar
          {S}_arm_upper_JNT = shoulder
            {S}_arm_lower_JNT = elbow
              {S}_wrist_JNT = wrist
"""),
    "soma": (("Left", "Right"), """
Root
  Hips = hips
    Spine1 = spine
      Spine2
        Chest = chest
          Neck1 = neck
            Neck2
              Head = head
                HeadEnd = head_top
                  *
                Jaw
                  *
          {S}Shoulder = collar
            {S}Arm = shoulder
              {S}ForeArm = elbow
                {S}Hand = wrist
                  {S}HandMiddle1 = hand
                    *
    {S}Leg = hip
      {S}Shin = knee
        {S}Foot = ankle
          {S}ToeBase = foot
            {S}ToeEnd = toe
              *
"""),
    "notch": (("Left", "Right"), """
Root
  Hip = hips
    Tummy = spine
      ChestBottom
        ChestTop = chest
          Neck = neck
            Head = head
              * = head_top
          {S}Collar = collar
            {S}UpperArm = shoulder
              {S}ForeArm = elbow
                {S}Hand = wrist
                  * = hand
  {S}Hip
    {S}Thigh = hip
      {S}LowerLeg = knee
        {S}FootTop = ankle
          {S}FootFront = foot
            * = toe
        {S}Heel
          *
"""),
    "growing down from a headset": (("Left", "Right"), """
HMD
  Head = head
    Neck = neck
      Chest = chest
        Waist = spine
          Hip = hips
            {S}-Hip = hip
              {S}-Knee = knee
                {S}-Ankle = ankle
                  {S}-Foot = foot
                    * = toe
"""),
    "poser without a head": (("l", "r"), """
hip = hips
  abdomen = spine
    chest = chest
      neck = neck
        * = head
      {S}Collar = collar
        {S}Shldr = shoulder
          {S}ForeArm = elbow
            {S}Hand = wrist
              * = hand
  {S}Buttock
    {S}Thigh = hip
      {S}Shin = knee
        {S}Foot = ankle
          * = foot, toe
"""),
    "limbs without hands and feet": (("L", "R"), """
pelvis = hips
  spine = spine
    spine.001 = chest
      neck = neck
        face = head
          *
      shoulder.{S} = collar
        upper_arm.{S} = shoulder
          forearm.{S} = elbow
            * = wrist
  thigh.{S} = hip
    shin.{S} = knee
      * = ankle
"""),
    "mikumikudance": (("左", "右"), """
センター
  上半身 = chest, spine
    首 = neck
      頭 = head
    {S}肩 = collar
      {S}腕 = shoulder
        {S}ひじ = elbow
          {S}手首 = wrist
  下半身 = hips
    {S}足 = hip
      {S}ひざ = knee
        {S}足首 = ankle
          {S}つま先 = foot, toe
"""),
}  # fmt: skip


def rig(name: str) -> tuple[Skeleton, dict[str, str]]:
    """Skeleton of a rig, and the roles it should get."""
    sides, outline = RIGS[name]
    return skeleton_of(outline, sides)


def skeleton_of(outline: str, sides=("Left", "Right")) -> tuple[Skeleton, dict[str, str]]:
    joints, ends, roles = [], [], {}
    _grow(_parsed(outline), None, sides, None, joints, ends, roles)
    offsets = np.random.default_rng(7).uniform(0.05, 0.3, (len(joints), 3))
    offsets[[still for _, _, still in joints]] = 0.0
    index = {name: number for number, (name, _, _) in enumerate(joints)}
    skeleton = Skeleton(
        [name for name, _, _ in joints],
        [-1 if parent is None else index[parent] for _, parent, _ in joints],
        offsets,
        end_names=[name for name, _ in ends],
        end_parents=[index[parent] for _, parent in ends],
        end_offsets=np.full((len(ends), 3), 0.04),
    )
    return skeleton, roles


def _parsed(outline):
    """Nested [line, children] of an outline."""
    root: list = []
    levels = [(-1, root)]
    for line in outline.strip("\n").splitlines():
        depth = len(line) - len(line.lstrip())
        while levels[-1][0] >= depth:
            levels.pop()
        node: tuple = (line.strip(), [])
        levels[-1][1].append(node)
        levels.append((depth, node[1]))
    return root


def _grow(nodes, parent, sides, side, joints, ends, roles):
    for line, children in nodes:
        if side is None and "{S" in line:
            for choice in (0, 1):
                _grow([(line, children)], parent, sides, choice, joints, ends, roles)
            continue
        name, _, wanted = re.sub(" @0$", "", line).partition(" = ")
        if side is not None:
            name = name.replace("{S}", sides[side]).replace("{S1}", sides[side][0])
        if name == "*":
            name = f"{parent}_site{len(ends)}"
            ends.append((name, parent))
        else:
            joints.append((name, parent, line.endswith("@0")))
        for role in filter(None, wanted.split(", ")):
            prefix = "" if side is None else ("left_", "right_")[side]
            assert prefix + role not in roles, f"{prefix + role} given twice"
            roles[prefix + role] = name
        _grow(children, name, sides, side, joints, ends, roles)
