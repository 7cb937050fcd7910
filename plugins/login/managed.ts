import type { Manage } from 'zin'
import { sha256Hex } from 'zin/signing'
import { canonicalEmail } from './email.js'
import type { Login } from './service.js'

/**
 * Wraps logins and logouts as management actions, which plugins can refuse and record. The user of a login is known only after the password
 * check.
 */
export function managedLogin(login: Login, manage: Manage): Login {
  return {
    login: (request) => {
      const account = sha256Hex(canonicalEmail(request.email)).slice(0, 16)
      const stranger = { kind: 'user', id: `email-${account}`, via: 'http' } as const
      return manage({ action: 'login', target: `account:${account}`, actor: stranger }, (note) =>
        login.login(request, ({ deviceId, userId }) => note({ actor: { ...stranger, id: userId, device: deviceId } })),
      )
    },
    logout: (claims, deviceId) => manage({ action: 'logout', target: `user:${claims.sub ?? ''}` }, () => login.logout(claims, deviceId)),
    logoutAll: (claims) => manage({ action: 'logout.everywhere', target: `user:${claims.sub ?? ''}` }, () => login.logoutAll(claims)),
  }
}
