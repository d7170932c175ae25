"""Rigs of no known tool, for the ways in which names are spelled."""

RIGS: dict[str, tuple[tuple[str, str], str]] = {
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
}  # fmt: skip
