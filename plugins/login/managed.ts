import type { Manage } from 'zin'
import { accountTarget } from './email.js'
import type { Login } from './service.js'

/**
 * Wraps logins and logouts as management actions, which plugins can refuse and record. The user of a login is known only after the password
 * check.
 */
export function managedLogin(login: Login, manage: Manage): Login {
  return {
    login: (request) => {
      const target = accountTarget(request.email)
      const stranger = { kind: 'user', id: target.replace('account:', 'email-'), via: 'http' } as const
      return manage({ action: 'login', target, actor: stranger }, (note) =>
        login.login(request, ({ deviceId, userId }) => note({ actor: { ...stranger, id: userId, device: deviceId } })),
      )
    },
    logout: (claims, deviceId) => manage({ action: 'logout', target: `user:${claims.sub ?? ''}` }, () => login.logout(claims, deviceId)),
    logoutAll: (claims) => manage({ action: 'logout.everywhere', target: `user:${claims.sub ?? ''}` }, () => login.logoutAll(claims)),
  }
}
