import { randomBytes } from 'node:crypto'
import { loginErrors } from './errors.js'
import { Gate } from './gate.js'

/** The two functions used from an argon2 package. */
export interface Argon2 {
  hash(password: string): Promise<string>
  verify(hash: string, password: string): Promise<boolean>
}

export interface Passwords {
  hash(password: string): Promise<string>
  /**
   * Without a hash (an unknown user) it takes the same time and returns false, and with a malformed one it returns false. Throws LOGIN_BUSY
   * when too many checks wait, and the error of argon2 when it fails.
   */
  check(password: string, hash: string | undefined): Promise<boolean>
}

const waitingPerCheck = 32

/** Argon2id with the package's defaults (19 MiB, 2 passes, 1 lane), which are OWASP's. Loaded when first used. */
export function createPasswords(atOnce: number, load: () => Promise<Argon2> = () => import('@node-rs/argon2')): Passwords {
  const gate = new Gate(atOnce, atOnce * waitingPerCheck, loginErrors.LOGIN_BUSY)
  let loaded: Promise<{ readonly argon2: Argon2; readonly decoy: string }> | undefined
  const engine = (): Promise<{ readonly argon2: Argon2; readonly decoy: string }> => {
    loaded ??= load()
      .then(async (argon2) => ({ argon2, decoy: await argon2.hash(randomBytes(16).toString('hex')) }))
      .catch((error: unknown) => {
        // The next check tries again.
        loaded = undefined
        throw error
      })
    return loaded
  }
  return {
    hash: (password) => gate.run(async () => (await engine()).argon2.hash(password)),
    check: (password, hash) =>
      gate.run(async () => {
        const { argon2, decoy } = await engine()
        const fits = await argon2.verify(hash ?? decoy, password).catch((error: unknown) => {
          if (isMalformed(error)) return false
          throw error
        })
        return fits && hash !== undefined
      }),
  }
}

/** Whether argon2 could not decode the stored hash. Other failures, such as a lack of memory, say nothing about the password. */
function isMalformed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'InvalidArg'
}

/** 22 characters, 128 bits. */
export function newPassword(): string {
  return randomBytes(16).toString('base64url')
}
