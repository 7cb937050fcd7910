import type { Attack } from '../attack.js'
import { messageContentAttacks } from './message-content.js'
import { messageSignatureAttacks } from './message-signature.js'

/** Attacks on requests signed by RFC 9421. */
export const messageAttacks: readonly Attack[] = [...messageContentAttacks, ...messageSignatureAttacks]
