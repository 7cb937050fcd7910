import { generateKeyPairSync } from 'node:crypto'
import type { Credential, KitParts, MessageCredential, Sessions } from './kit.js'
import { withOwnKey, withSecret } from './message.js'
import { logIn, logOut, sessionsOf } from './session.js'

export interface Credentials {
  readonly me: Credential
  readonly shared: boolean
  readonly second?: Credential
  readonly other?: Credential
  /** Callers that sign by RFC 9421. After a login, two separate devices: one signs with its secret, one with its own key. */
  readonly messages: readonly MessageCredential[]
  /** Starts and ends further sessions; only after a login. */
  readonly sessions?: Sessions
  /** The shared secret from this folder's settings, which need not be that of the app. */
  readonly sharedSecret?: string
  /** Ends all sessions that were started for the attack. */
  end(): Promise<void>
}

/** Thrown when the credentials are incomplete or the app refuses them. */
export class CredentialProblem extends Error {}

type Env = Readonly<Record<string, string | undefined>>
export type CredentialOptions = Readonly<
  Record<`${'' | 'other-'}${'email' | 'password-env' | 'key-id' | 'secret-env' | 'token-env'}`, string | undefined>
>

export interface CredentialParts {
  readonly origin: URL
  readonly options: CredentialOptions
  readonly env: Env
  readonly headerPrefix: string
  readonly mint: KitParts['mint'] | undefined
  readonly signal: AbortSignal
}

const none = { end: async () => undefined }

/**
 * Returns the credentials that the options select: a login, a key, or otherwise the shared secret and token key of this app. Throws a
 * CredentialProblem.
 */
export async function findCredentials(parts: CredentialParts): Promise<Credentials> {
  const { options, env } = parts
  const secret = env.BULLETPROOF_SIGNING_SECRET || env.AUTH_KEY || env.APP_KEY || ''
  const other = await named(parts, 'other-')
  const own = await named(parts, '')
  if (own !== undefined) {
    const second = own.session ? await login(parts, '') : undefined
    const messages = own.session ? await messageLogins(parts) : []
    const sessions = [own, other].flatMap((found) => (found?.session === true ? [found.credential] : []))
    if (second !== undefined) sessions.push(second)
    const ends: (() => Promise<unknown>)[] = [...sessions.map((session) => () => logOut(parts, session)), ...messages.map(({ end }) => end)]
    const user = { email: options.email, password: own.session ? fromEnv(parts, 'password-env') : undefined }
    return {
      me: own.credential,
      shared: false,
      messages: messages.map(({ as }) => as),
      ...(second === undefined ? {} : { second }),
      ...(other === undefined ? {} : { other: other.credential }),
      ...(own.session ? { sessions: sessionsOf(parts, user, (end) => void ends.push(end)) } : {}),
      ...(secret === '' ? {} : { sharedSecret: secret }),
      end: async () => void (await Promise.allSettled(ends.map((end) => end()))),
    }
  }
  if (options['other-email'] !== undefined || secret === '' || parts.mint === undefined)
    throw problem(
      'credentials are required: --email and --password-env, or --key-id, --secret-env and --token-env, or the secrets of the app in .env',
    )
  const keyId = 'zin-cli'
  const me = { keyId, secret, token: await parts.mint({ sub: 'zin-auth-attack', deviceId: keyId }) }
  return { ...none, me, messages: [withSecret(me)], shared: true }
}

interface Named {
  readonly credential: Credential
  readonly session: boolean
}

async function named(parts: CredentialParts, whose: '' | 'other-'): Promise<Named | undefined> {
  const { options } = parts
  const keyId = options[`${whose}key-id`]
  if (keyId !== undefined) {
    const secret = fromEnv(parts, `${whose}secret-env`)
    return { credential: { keyId, secret, token: fromEnv(parts, `${whose}token-env`) }, session: false }
  }
  return options[`${whose}email`] === undefined ? undefined : { credential: await login(parts, whose), session: true }
}

/** Secrets are never arguments: other users of the machine can read the command line. */
function fromEnv({ options, env }: CredentialParts, option: keyof CredentialOptions): string {
  const name = options[option]
  if (name === undefined) throw problem(`option --${option} is missing; pass the name of the environment variable that holds it`)
  const value = env[name]
  if (value === undefined || value === '') throw problem(`--${option} names ${name}, which is neither in the environment nor in .env`)
  return value
}

/** Enrolls two more devices of the user: one signs with its secret, the other with its own key if the login accepts one. */
async function messageLogins(parts: CredentialParts): Promise<readonly { readonly as: MessageCredential; end(): Promise<boolean> }[]> {
  const bySecret = await login(parts, '')
  const ofSecret = { as: withSecret(bySecret), end: () => logOut(parts, bySecret, { profile: 'rfc9421', secret: bySecret.secret }) }
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x: devicePublicKey = '' } = publicKey.export({ format: 'jwk' })
  const byKey = await login(parts, '', { devicePublicKey })
  if (byKey.secret !== '')
    return [ofSecret, { as: withSecret(byKey), end: () => logOut(parts, byKey, { profile: 'rfc9421', secret: byKey.secret }) }]
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const ofKey = withOwnKey(byKey.keyId, byKey.token, privateKey, devicePublicKey)
  return [ofSecret, { as: ofKey, end: () => logOut(parts, byKey, { profile: 'rfc9421', privateKey: pem }) }]
}

async function login(parts: CredentialParts, whose: '' | 'other-', more: Readonly<Record<string, string>> = {}): Promise<Credential> {
  const { origin, signal, options } = parts
  const fields = { email: options[`${whose}email`], password: fromEnv(parts, `${whose}password-env`), ...more }
  const { status, credential } = await logIn(parts, fields).catch((error: unknown) => {
    if (signal.aborted) throw error
    throw problem(`no app listens on ${origin.origin}; start it with "zin start"`, error)
  })
  if (credential !== undefined) return credential
  throw problem(`POST /auth/login returned ${status} for --${whose}email ${fields.email}; check the email and the password`)
}

function problem(message: string, cause?: unknown): CredentialProblem {
  return new CredentialProblem(message, { cause })
}
