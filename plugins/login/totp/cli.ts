import { type Command, defineCommand, type Manage } from 'zin'
import type { Accounts } from '../accounts.js'
import { actor } from '../cli.js'
import type { SecondFactor } from './second-factor.js'

/** `zin user:totp-reset`. @param accounts the built-in users, if the app has no users of its own. */
export function resetCommand(factor: SecondFactor, accounts: Accounts | undefined, manage: Manage): Command {
  return defineCommand({
    name: 'user:totp-reset',
    summary: 'Removes the second factor of a user who lost it; the password alone then logs in',
    args: [{ name: 'user', summary: accounts === undefined ? 'Id of the user' : 'Email address' }],
    json: true,
    needs: 'services',
    async run({ args, print }) {
      const user = args.user ?? ''
      const id = accounts === undefined ? user : (await accounts.get(user)).id
      const removed = await manage({ action: 'totp.reset', target: `user:${id}`, actor }, () => factor.reset(id))
      print.record({ id, removed })
      return 0
    },
  })
}
