import { defineRoute, type Route, Type } from 'zin'
import type { PublicJwk } from 'zin/plugins/jwt'

/** The public keys of the app, for services that verify its tokens. */
export function jwksRoutes(keys: () => readonly PublicJwk[]): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/.well-known/jwks.json',
      summary: 'The public keys that verify the tokens of the app; none with HS256, whose key is secret',
      response: { 200: Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }) },
      handler: (ctx) => {
        ctx.set('Cache-Control', 'public, max-age=300')
        return { keys: [...keys()] }
      },
    }),
  ]
}
