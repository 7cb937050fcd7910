import type { Attack } from './attack.js'
import { bodyAttacks } from './families/body.js'
import { fieldAttacks } from './families/fields.js'
import { headerAttacks } from './families/headers.js'
import { identityAttacks } from './families/identity.js'
import { messageAttacks } from './families/message.js'
import { missingAttacks } from './families/missing.js'
import { replayAttacks } from './families/replay.js'
import { sessionAttacks } from './families/session.js'
import { targetAttacks } from './families/target.js'
import { timeAttacks } from './families/time.js'
import { tokenAttacks } from './families/token.js'

/** All attacks. Each is data and a pure function from credentials to requests. */
export const attacks: readonly Attack[] = [
  ...missingAttacks,
  ...fieldAttacks,
  ...replayAttacks,
  ...timeAttacks,
  ...identityAttacks,
  ...tokenAttacks,
  ...headerAttacks,
  ...bodyAttacks,
  ...targetAttacks,
  ...messageAttacks,
  ...sessionAttacks,
]
