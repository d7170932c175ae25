"""Animation programs and the libraries of characters that go with them."""

RIGS: dict[str, tuple[tuple[str, str], str]] = {
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
    "makehuman before 1.0": (("L", "R"), """
Root
  Spine1 = spine
    Spine2
      Spine3 = chest
        Neck = neck
          Head = head
            __Jaw
              Jaw
                Tongue1
                  *
            __Eye_{S}
              Eye_{S}
                *
        __Clavicle_{S}
          Clavicle_{S} = collar
            UpArm_{S} = shoulder
              LoArm_{S} = elbow
                Hand_{S} = wrist
                  __Thumb1_{S}
                    Thumb1_{S}
                      Thumb2_{S}
                        *
                  __Index1_{S}
                    Index1_{S}
                      *
                  Middle1_{S} = hand
                    Middle2_{S}
                      *
  Hips = hips
    __UpLeg_{S}
      UpLeg_{S} = hip
        LoLeg_{S} = knee
          Foot_{S} = ankle
            Toe_{S} = foot
              * = toe
"""),
}  # fmt: skip
