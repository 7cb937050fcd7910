import { generateKeyPairSync } from 'node:crypto'
import { createHeaders, type Rfc9421Credential } from 'zin/signer'
import { type Credential, type MessageCredential, userAgent } from './kit.js'
import { withOwnKey, withSecret } from './message.js'

export interface Credentials {
  readonly me: Credential
  readonly shared: boolean
  readonly second?: Credential
  readonly other?: Credential
  /** Callers that sign by RFC 9421: after a login two devices of their own, one by its secret and one by its key. */
  readonly messages: readonly MessageCredential[]
  /** Ends what was begun for the attack. */
  end(): Promise<void>
}

/** Why nothing can be tried: the credentials are incomplete, or the app does not take them. */
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
  readonly mint: ((claims: Readonly<Record<string, unknown>>) => Promise<string>) | undefined
  readonly signal: AbortSignal
}

const none = { end: async () => undefined }

/** The credentials that the options name: a login, a key, or else the shared secret and token key of this app. Throws a CredentialProblem. */
export async function findCredentials(parts: CredentialParts): Promise<Credentials> {
  const { options, env } = parts
  const other = await named(parts, 'other-')
  const own = await named(parts, '')
  if (own !== undefined) {
    const second = own.session ? await login(parts, '') : undefined
    const messages = own.session ? await messageLogins(parts) : []
    const sessions = [own, other].flatMap((found) => (found?.session === true ? [found.credential] : []))
    if (second !== undefined) sessions.push(second)
    const ends = [...sessions.map((session) => () => logout(parts, session)), ...messages.map(({ end }) => end)]
    return {
      me: own.credential,
      shared: false,
      messages: messages.map(({ as }) => as),
      ...(second === undefined ? {} : { second }),
      ...(other === undefined ? {} : { other: other.credential }),
      end: async () => void (await Promise.allSettled(ends.map((end) => end()))),
    }
  }
  const secret = env.BULLETPROOF_SIGNING_SECRET || env.AUTH_KEY || env.APP_KEY || ''
  if (options['other-email'] !== undefined || secret === '' || parts.mint === undefined)
    throw problem(
      'it needs credentials: --email and --password-env, or --key-id, --secret-env and --token-env, or the secrets of the app in .env',
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

/** A secret never stands on the command line, where other users of the machine can read it. */
function fromEnv({ options, env }: CredentialParts, option: keyof CredentialOptions): string {
  const name = options[option]
  if (name === undefined) throw problem(`option --${option} is missing: the name of the environment variable that holds it`)
  const value = env[name]
  if (value === undefined || value === '') throw problem(`--${option} names ${name}, which is neither in the environment nor in .env`)
  return value
}

/** Two more devices of the user: one signs by its secret, and one by its own key where the login takes one. */
async function messageLogins(parts: CredentialParts): Promise<readonly { readonly as: MessageCredential; end(): Promise<void> }[]> {
  const bySecret = await login(parts, '')
  const ofSecret = { as: withSecret(bySecret), end: () => logout(parts, bySecret, { profile: 'rfc9421', secret: bySecret.secret }) }
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x: devicePublicKey = '' } = publicKey.export({ format: 'jwk' })
  const byKey = await login(parts, '', { devicePublicKey })
  if (byKey.secret !== '')
    return [ofSecret, { as: withSecret(byKey), end: () => logout(parts, byKey, { profile: 'rfc9421', secret: byKey.secret }) }]
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const ofKey = withOwnKey(byKey.keyId, byKey.token, privateKey, devicePublicKey)
  return [ofSecret, { as: ofKey, end: () => logout(parts, byKey, { profile: 'rfc9421', privateKey: pem }) }]
}

async function login(parts: CredentialParts, whose: '' | 'other-', more: Readonly<Record<string, string>> = {}): Promise<Credential> {
  const { origin, signal, options } = parts
  const body = JSON.stringify({ email: options[`${whose}email`], password: fromEnv(parts, `${whose}password-env`), ...more })
  const headers = { 'content-type': 'application/json', 'user-agent': userAgent }
  const answer = await fetch(new URL('/auth/login', origin), { method: 'POST', headers, body, redirect: 'manual', signal }).catch(
    (error: unknown) => {
      if (signal.aborted) throw error
      throw problem(`no app answers on ${origin.origin}; start it with "zin start"`, error)
    },
  )
  const { jwt, deviceId, deviceSecret } = (await answer.json().catch(() => ({}))) as Readonly<Record<string, unknown>>
  if (typeof jwt !== 'string' || typeof deviceId !== 'string' || typeof deviceSecret !== 'string')
    throw problem(
      `POST /auth/login answered ${answer.status} to --${whose}email ${options[`${whose}email`]}; are email and password right?`,
    )
  return { keyId: deviceId, secret: deviceSecret, token: jwt }
}

type Signing = { readonly profile?: 'v1'; readonly secret: string } | ({ readonly profile: 'rfc9421' } & Rfc9421Credential)

async function logout(
  { origin, headerPrefix }: CredentialParts,
  { keyId, secret, token }: Credential,
  by: Signing = { secret },
): Promise<void> {
  const url = new URL('/auth/logout', origin)
  const authorization = `Bearer ${token}`
  const signed = await createHeaders({
    method: 'POST',
    url,
    keyId,
    headerPrefix,
    ...by,
    ...(by.profile === 'rfc9421' ? { authorization } : {}),
  })
  const headers = { ...signed, authorization, 'user-agent': userAgent }
  await fetch(url, { method: 'POST', headers, redirect: 'manual', signal: AbortSignal.timeout(5_000) })
}

function problem(message: string, cause?: unknown): CredentialProblem {
  return new CredentialProblem(message, { cause })
}
