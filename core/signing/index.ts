/**
 * Verification of signed requests, and its building blocks, for plugins that guard routes, proxies and tests.
 * Clients sign with `zin/signer`.
 */

// The signed text and its headers.

export type { CanonicalParts, SignatureHeaderNames } from './canonical.js'
export { canonicalRequest, DEFAULT_HEADER_PREFIX, KEY_ID_PATTERN, signatureHeaderNames } from './canonical.js'

// Keys and secrets.

export type { DecoyKey, SigningKey } from './key.js'
export { decoyKey, isSameSecret, sha256Hex, signingKey } from './key.js'
export { isPublicKey, publicSigningKey } from './public-key.js'
export type { SealBinding, Sealer, Unsealed } from './seal.js'
export { createSealer, isEnvelope } from './seal.js'
export type { BackupSecret } from './secret-list.js'
export { parseBackups, parseSecrets } from './secret-list.js'

// The steps of a verification, which callers may run separately.

export type { BindingClaims, SignatureClaim, SignatureFault, SignatureProfile, SignatureReader, SignedTarget } from './verifier.js'
export {
  checkBindings,
  checkBody,
  checkFence,
  checkFreshness,
  checkMac,
  checkOwner,
  checkProfile,
  isSigned,
  padKeys,
  readSignature,
  replayed,
  signatureReader,
  signedTarget,
  signedText,
} from './verifier.js'
