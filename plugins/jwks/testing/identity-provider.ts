import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'

export interface SigningKey {
  readonly alg: string
  readonly kid: string
  readonly publicJwk: JWK
  sign(claims: JWTPayload, header?: Readonly<Record<string, unknown>>): Promise<string>
}

export async function newKey(alg = 'RS256', kid = `key-${Math.random()}`): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return {
    alg,
    kid,
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    sign: (claims, header = {}) => new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  }
}

/** An identity provider over HTTP: discovery and keys. */
export async function identityProvider() {
  const state = {
    keys: [] as unknown[],
    /** Requests by path. */
    asked: [] as string[],
    /** Replaces the response of a path. */
    answer: undefined as ((path: string, response: ServerResponse) => boolean) | undefined,
    discovery: {} as Readonly<Record<string, unknown>>,
  }
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    state.asked.push(path)
    if (state.answer?.(path, response)) return
    const json = (value: unknown) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (path === '/.well-known/openid-configuration') json({ issuer, jwks_uri: `${issuer}/keys`, ...state.discovery })
    else if (path === '/keys') json({ keys: state.keys })
    else response.writeHead(404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    state,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
