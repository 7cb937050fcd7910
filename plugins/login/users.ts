import type { Manage } from 'zin'
import type { Accounts } from './accounts.js'
import type { LoginUsers } from './contract.js'
import { accountTarget } from './email.js'
import { loginErrors } from './errors.js'
import type { Mails } from './mails/mails.js'

/** Implements `loginUsersService`. */
export function createLoginUsers(accounts: Accounts | undefined, mails: Mails | undefined, manage: Manage): LoginUsers {
  return {
    async add({ email, password, role }) {
      if (accounts === undefined) throw loginErrors.LOGIN_USERS_MISSING()
      return manage({ action: 'user.add', target: accountTarget(email) }, async (note) => {
        const user = await accounts.add({ email, password, role })
        if (user === undefined) throw loginErrors.USER_EXISTS(email)
        note({ target: `user:${user.id}`, after: { role: user.role } })
        mails?.welcome(user.email)
        return { id: user.id, email: user.email, role: user.role }
      })
    },
  }
}
