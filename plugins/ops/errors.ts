import { defineErrors } from 'zin'

export const opsErrors = defineErrors({
  UNAUTHORIZED: {
    status: 401,
    // The response does not reveal which check failed.
    message: () => 'This requires a request signed with the shared secret, or the token of a user with an ops role',
    headers: { 'WWW-Authenticate': 'Bearer' },
    when: 'The credentials are missing or invalid; the response does not reveal which check failed',
    fix: 'Sign the request with the shared secret, or send the token of a user with one of `roles`',
  },
  FORBIDDEN: {
    status: 403,
    message: (why: string) => why,
    when: 'The role may not operate the app, a permission is missing, or a page of another site sent the request',
    fix: 'Use a role with the permission in the message',
  },
  MISDIRECTED: {
    status: 421,
    message: () =>
      'Without credentials this route is served on a loopback name only: 127.0.0.1, localhost or [::1] with the port of the app',
    when: 'In open mode: the `Host` is not a loopback name of the app',
    fix: 'Use `127.0.0.1`, `localhost` or `[::1]` with the port of the app',
  },
  OPS_OPEN_IN_PRODUCTION: {
    message: () => 'ops: OPS_AUTH=open is refused in production; set it to required, or to auto',
    when: 'At boot: `OPS_AUTH=open` in production',
    fix: 'Set `OPS_AUTH` to `required` or `auto`',
  },
  OPS_OPEN_ON_NETWORK: {
    message: (host: string) =>
      `ops: OPS_AUTH=open is refused on ${host}, which other machines can reach; bind to 127.0.0.1 (HOST), or set OPS_AUTH to required or auto`,
    when: 'At boot: `OPS_AUTH=open` on a bind that other machines can reach',
    fix: 'Bind to 127.0.0.1, or set `OPS_AUTH` to `required` or `auto`',
  },
  OPS_NO_CREDENTIALS: {
    message: (why: string) =>
      `ops: ${why}, so callers need credentials, but no plugin checks them; enable bulletproof (signed requests) or jwt (tokens) in zin.config.ts`,
    when: 'At boot: credentials are required and neither `bulletproof` nor `jwt` is enabled',
    fix: 'Enable one of them',
  },
  BACKUP_TARGET: {
    status: 400,
    message: (what: string) => `${what}. Pass the path of a folder that does not exist yet, outside of the data directory`,
    usage: true,
    when: '`zin backup`: the target exists, is in the data directory or contains it, or its parent folder does not exist',
    fix: 'Pass the path of a new folder',
  },
  BACKUP_NO_SPACE: {
    status: 507,
    message: (target: string, free: number, needed: number) =>
      `The disk of ${target} has ${mebibytes(free)} MiB of free space, and the backup needs ${mebibytes(needed)}. Free some space, or choose another disk`,
    when: '`zin backup`: the disk of the target has too little space',
    fix: 'Free some space, or choose another disk',
  },
  BACKUP_FAILED: {
    status: 500,
    message: (plugin: string, error: Error) => `The backup failed at the data of ${plugin}: ${error.message}. Nothing was kept`,
    cause: (_plugin: string, error: Error) => error,
    when: '`zin backup`: a plugin could not copy its data, or could not open the copy',
    fix: 'Do what the message says, and repeat the backup',
  },
  BACKUP_NOTHING: {
    status: 409,
    message: (dataDir: string, elsewhere: string) =>
      `The data directory ${dataDir} holds nothing to back up. ${elsewhere || 'If the app uses another one, set ZIN_DATA_DIR to it'}`,
    when: '`zin backup`: the jobs and the tables are on servers, or the app has another data directory',
    fix: 'Back up Redis and the database with their own tools, or set `ZIN_DATA_DIR`',
  },
  BACKUP_NOT_ASKED: {
    status: 409,
    message: () => 'No `zin backup` is running on this machine for this app; run it there instead of calling this route',
    when: 'The route was called without the command',
    fix: 'Run `zin backup` on the machine of the app',
  },
})

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20)
}
