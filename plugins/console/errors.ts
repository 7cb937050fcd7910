import { defineErrors } from 'zin'

export const consoleErrors = defineErrors({
  CONSOLE_NOT_BUILT: {
    status: 503,
    message: () => 'The files of the console are missing; run `npm run build`, or install the package zin again',
    when: 'The package has no built console',
    fix: 'Run `npm run build`',
  },
  CONSOLE_FILE_NOT_FOUND: {
    status: 404,
    message: (name: string) => `The console has no file "${name.slice(0, 100)}"; a newer version may be running, so reload the page`,
    when: 'A file of another version of the console is requested',
    fix: 'Reload the page',
  },
  CONSOLE_CONTRIBUTION: {
    message: (plugin: string, why: string) => `Plugin "${plugin}" cannot add to the console: ${why}`,
    when: 'At start: a listener of `collectConsole` failed, or its module cannot be read. The console runs without it',
    fix: 'Correct what the message names',
  },
  CONSOLE_AUTH_REQUIRED: {
    message: (host: string) => `The console would be open to everybody on ${host}; set its option auth, or leave out port`,
    when: 'At boot: `port` without `auth`, and the app is reachable from other machines or in production',
    fix: 'Set the option `auth`',
  },
  CONSOLE_UNAUTHORIZED: {
    status: 401,
    message: () => 'The user name or password is not valid',
    headers: { 'WWW-Authenticate': 'Basic realm="console", charset="UTF-8"' },
    when: 'On `port`: the credentials are missing or wrong',
    fix: 'Use the user name and password of the option `auth`',
  },
  CONSOLE_LINK_REQUIRED: {
    status: 401,
    message: () => 'Open the newest link that `zin monitor` has printed; each works once',
    when: 'With `zin monitor`: the browser has opened no link, or one that was used before',
    fix: 'Open the newest link in the terminal of `zin monitor`',
  },
  CONSOLE_THROTTLED: {
    status: 429,
    message: (seconds: number) => `Too many wrong credentials came from your network; try again in ${seconds} s`,
    headers: (seconds: number) => ({ 'Retry-After': String(seconds) }),
    when: 'On `port`: more than 10 wrong credentials came from one network within a minute',
    fix: 'Wait for `Retry-After`',
  },
  CONSOLE_FORBIDDEN: {
    status: 403,
    message: (why: string) => why,
    when: 'On `port`: a page of another site sent the request, or the console is read-only',
    fix: 'See the message',
  },
  CONSOLE_ADDRESS: {
    message: (host: string, port: number, why: string) => `The console cannot listen on ${host}:${port}: ${why}. Choose another port`,
    when: 'The port of the console is taken',
    fix: 'Choose another port',
  },
  CONSOLE_APP_UNREACHABLE: {
    status: 502,
    message: (_cause: unknown) => 'The app does not respond',
    cause: (cause: unknown) => cause,
    when: 'On `port` and with `zin monitor`: the app cannot be reached',
    fix: 'Start the app, or correct `--url`',
  },
})
