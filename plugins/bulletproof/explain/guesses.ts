import { createSecretKey } from 'node:crypto'
import { checkMac, type DecoyKey, type SignatureClaim, type SignedTarget, type SigningKey, sha256Hex } from 'zin/signing'

export interface GuessInput {
  readonly method: string
  readonly target: SignedTarget
  readonly claim: SignatureClaim
  readonly body: Uint8Array
  readonly keys: readonly SigningKey[]
  readonly decoy: DecoyKey
  /** Path prefix that a gateway removes. */
  readonly prefix: string
  /** Keys of other signers, each with a description of its owner. */
  readonly others: readonly (readonly [whose: string, keys: readonly SigningKey[]])[]
}

type Change = Partial<Pick<GuessInput, 'method' | 'target' | 'claim' | 'keys'>>

/** Describes the first common client mistake for which the signature would match. */
export function guessMistake(input: GuessInput): string | undefined {
  const { decoy } = input
  const matches = (change: Change): boolean => {
    const { method, target, claim, keys } = { ...input, ...change }
    return !('ok' in checkMac(method, target, claim, keys, decoy))
  }
  return changesOf(input).find(([, change]) => matches(change))?.[0]
}

function changesOf({ method, target, claim, body, keys, others, prefix }: GuessInput): readonly (readonly [string, Change])[] {
  const { pathname, search } = target
  const short = prefix !== '' && pathname.startsWith(prefix) ? pathname.slice(prefix.length) : undefined
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((other) => other !== method)
  return [
    ...others.map(([whose, theirs]): readonly [string, Change] => [`it is signed with ${whose}`, { keys: theirs }]),
    ...(search === '' ? [] : [['the client signed without the query', { target: { ...target, search: '' } }] as const]),
    ...(search === ''
      ? []
      : [['the client signed the query without its "?"', { target: { ...target, search: search.slice(1) } }] as const]),
    ...(short === undefined
      ? []
      : [[`the client signed without the prefix ${prefix}`, { target: { ...target, pathname: short } }] as const]),
    ['the client signed the decoded path', { target: { ...target, pathname: opened(pathname) } }],
    ['the client signed the path with a trailing slash', { target: { ...target, pathname: `${pathname}/` } }],
    ['the client signed the hash of the body, but sent another hash', { claim: { ...claim, bodySha256: sha256Hex(body) } }],
    ['the client signed the hash of an empty body', { claim: { ...claim, bodySha256: sha256Hex('') } }],
    ...methods.map((other): readonly [string, Change] => [`the client signed the method ${other}`, { method: other }]),
    ...spelledKeys(keys),
  ]
}

/** The same secret in other encodings. */
function spelledKeys(keys: readonly SigningKey[]): readonly (readonly [string, Change])[] {
  const secrets = keys.filter(({ key }) => key.type === 'secret').map(({ key }) => key.export().toString('utf8'))
  const as = (spell: (text: string) => Buffer): Change => ({
    keys: secrets.map((text) => ({ key: createSecretKey(spell(text)), id: 'guess' })),
  })
  return [
    ['the client decoded the secret as base64; the key is its text', as((text) => Buffer.from(text.replace(/^base64:/, ''), 'base64'))],
    ['the client decoded the secret as hex; the key is its text', as((text) => Buffer.from(text, 'hex'))],
    ['the secret of the client ends with a line break', as((text) => Buffer.from(`${text}\n`))],
    ['the client left out the prefix base64: of the secret', as((text) => Buffer.from(text.replace(/^base64:/, '')))],
  ]
}

function opened(pathname: string): string {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return pathname
  }
}
