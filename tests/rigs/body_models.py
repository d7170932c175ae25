"""Statistical models of the body: SMPL and its spellings."""

RIGS: dict[str, tuple[tuple[str, str], str]] = {
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
}  # fmt: skip
