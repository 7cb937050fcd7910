import type { HookSpecs, Settle } from 'zin'

export interface JwtHooks {
  onRevokeUser: Settle<[sub: string]>
}

export const jwtHooks = {
  onRevokeUser: {
    kind: 'settle',
    args: ['sub'],
    summary:
      'Every token of a user was revoked: end other credentials of the user, such as sessions. `revokeUser` waits for it, and fails if it fails',
  },
} satisfies HookSpecs<JwtHooks>

declare module 'zin' {
  interface HookMap extends JwtHooks {}
}
