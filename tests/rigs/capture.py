"""Capture systems and the databases made with them."""

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
}  # fmt: skip
