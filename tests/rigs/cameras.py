"""Depth cameras and networks that read bodies off pictures."""

RIGS: dict[str, tuple[tuple[str, str], str]] = {
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
}  # fmt: skip
