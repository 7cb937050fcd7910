import { resolve } from 'node:path'
import { type Clock, type Command, defineCommand, type Printer } from 'zin'
import type { Tokens } from 'zin/plugins/jwt'
import type { Kv } from 'zin/plugins/kv'
import { checkFence, decoyKey, replayed, type SignatureHeaderNames, signingKey } from 'zin/signing'
import type { Secrets } from '../secrets.js'
import type { DeviceStore } from '../store/devices/contract.js'
import { readOne } from '../store/lookup.js'
import { type NonceStore, nonceKey } from '../store/nonces/contract.js'
import type { Explanation, Known, KnownKeys } from './explain.js'

export interface ExplainCommandParts {
  readonly names: SignatureHeaderNames
  readonly windowMs: number
  readonly signedPathPrefix: string
  readonly signedAuthority: string
  readonly tokens: Pick<Tokens, 'verify' | 'ephemeral' | 'revocationKeys' | 'isRevoked'>
  readonly kv: () => Pick<Kv, 'getMany'> | undefined
  readonly devices: DeviceStore
  readonly nonces: Pick<NonceStore, 'driver' | 'glance'>
  readonly secrets: Secrets
  readonly clock: Clock
}

/** `zin auth:explain <file>`: 0 when every layer passes, else 1. */
export function explainCommand(parts: ExplainCommandParts): Command {
  return defineCommand({
    name: 'auth:explain',
    summary: 'Name the layer that refuses a captured request, and how to fix it',
    needs: 'services',
    json: true,
    args: [{ name: 'file', summary: 'file with the request as HTTP text, or as JSON with method, url, headers and body' }],
    options: {
      at: { type: 'string', summary: 'Time of the check: ms since 1970 or an ISO date; default: now' },
      'secret-env': { type: 'string', summary: 'Environment variable with the signing secret to use instead of that of the app' },
    },
    async run({ args, options, env, cwd, print }) {
      // Loaded on demand: starting an app does not need them.
      const [{ explain }, { readCapture }] = await Promise.all([import('./explain.js'), import('./request-file.js')])
      const at = options.at === undefined ? parts.clock.now() : timeOf(options.at)
      const name = options['secret-env']
      const secret = name === undefined ? undefined : (env[name] ?? '')
      const wrong =
        at === undefined
          ? `option --at takes ms since 1970 or an ISO date such as 2026-01-31T12:00:00Z, not "${options.at}"`
          : secret === ''
            ? `--secret-env names ${name}, which is neither in the environment nor in .env`
            : undefined
      if (at === undefined || wrong !== undefined) {
        print.error(wrong ?? '')
        return 2
      }
      const request = await readCapture(resolve(cwd, args.file ?? ''))
      const explanation = await explain(request, knownAt(parts, at, secret))
      const allPassed = explanation.layers.every(({ verdict }) => verdict === 'passed')
      if (print.json) print.record({ judgedAt: new Date(at).toISOString(), passed: allPassed, notes: request.notes, ...explanation })
      else printExplanation(print, `${request.method} request, checked at ${new Date(at).toISOString()}`, request.notes, explanation)
      return allPassed ? 0 : 1
    },
  })
}

function timeOf(text: string): number | undefined {
  const ms = /^\d{1,16}$/.test(text) ? Number(text) : Date.parse(text)
  return Number.isNaN(new Date(ms).getTime()) ? undefined : ms
}

function knownAt(parts: ExplainCommandParts, at: number, secret: string | undefined): Known {
  const { tokens, nonces, kv, secrets } = parts
  return {
    ...parts,
    at,
    decoy: decoyKey(),
    verifyToken: tokens.ephemeral ? undefined : (token) => tokens.verify(token, at),
    // Without a kv, revocations are in the memory of the running app.
    isRevoked: async (claims) => (tokens.revocationKeys(claims).length === 0 ? undefined : tokens.isRevoked(claims)),
    keysOf: (claim) =>
      secret === undefined
        ? keysOf(parts, claim.keyId, at)
        : Promise.resolve({ keys: [signingKey(secret)], whose: 'the secret from --secret-env', signer: undefined, weakest: 'v1' }),
    others: [['the shared secret, but the key id belongs to a device', secrets.shared('', at).keys]],
    async nonceFault(claim, credential) {
      if (nonces.driver === 'memory') return 'unknown'
      const { birth, seen } = await readOne(kv(), nonces.glance([nonceKey(credential, claim.nonce)]))
      return checkFence(claim, birth) ?? (seen ? replayed : undefined)
    },
  }
}

async function keysOf({ devices, secrets, kv }: ExplainCommandParts, keyId: string, at: number): Promise<KnownKeys> {
  const device = await readOne(kv(), devices.find(keyId))
  const { keys, signer } = await secrets.find(keyId, device, at)
  const weakest = device?.profile ?? 'v1'
  const whose = {
    device: 'the secret of the device',
    resolved: "the app's own secret of the key id",
    shared: 'the shared secret or a backup of it',
  }[signer.kind]
  const absent =
    keys.length > 0
      ? undefined
      : device === undefined
        ? 'the key id has no secret: it matches no device and may not use the shared secret'
        : device.removedAt !== undefined
          ? 'the device was removed'
          : 'the secret of the device cannot be decrypted with this APP_KEY'
  const unsure =
    device === undefined && devices.driver === 'memory' && signer.kind !== 'resolved'
      ? 'devices are in the memory of the running app; pass the secret of this device with --secret-env'
      : undefined
  return { keys, whose, signer, weakest, ...(absent === undefined ? {} : { absent }), ...(unsure === undefined ? {} : { unsure }) }
}

function printExplanation(print: Printer, title: string, notes: readonly string[], found: Explanation): void {
  const { layers, firstFailed, canonical, bodySha256, signature } = found
  print.line(title)
  for (const note of notes) print.line(`Note: ${note}`)
  print.table(layers.map(({ layer, name, verdict, why }) => ({ layer, name, verdict, why })))
  if (canonical !== undefined) {
    print.line('\nSigned text, with visible line feeds:')
    print.line(
      canonical
        .split('\n')
        .map((line) => `  ${line}`)
        .join('\\n\n'),
      { verbatim: true },
    )
  }
  print.line(`\nSHA-256 of the body: signed ${bodySha256.given ?? 'none'}, captured ${bodySha256.expected}`)
  if (signature.given !== undefined)
    print.line(`Signature: begins with ${signature.given}; expected ${signature.expected ?? 'that of a key that is not available here'}`)
  const unchecked = layers.filter(({ verdict }) => verdict === 'not checked')
  if (firstFailed !== undefined)
    print.line(`\nLayer ${firstFailed.layer}, ${firstFailed.name}: ${firstFailed.why}\n  ${firstFailed.advice ?? ''}`)
  else if (unchecked.length > 0)
    print.line(`\nNo layer fails; not checked: ${unchecked.map(({ layer, name }) => `${layer} ${name}`).join(', ')}`)
  else print.line('\nEvery layer passes')
}
