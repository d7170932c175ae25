"""Game engines and virtual worlds."""

RIGS: dict[str, tuple[tuple[str, str], str]] = {
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
}  # fmt: skip
