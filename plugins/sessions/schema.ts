import { Type } from 'zin'

export const sessionResponse = {
  200: Type.Object({
    user: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], { description: 'Whom the session is signed in as' }),
    csrfToken: Type.String({ description: 'For the header `x-csrf-token` or the field `_csrf` of requests that change something' }),
    expiresAt: Type.Integer({ description: 'When it ends without further use, in ms since 1970' }),
  }),
}

export const messageResponse = { 200: Type.Object({ message: Type.String() }) }
