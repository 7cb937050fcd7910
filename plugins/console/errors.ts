import { defineErrors } from 'zin'

export const consoleErrors = defineErrors({
  CONSOLE_NOT_BUILT: {
    status: 503,
    message: () => 'The console files are missing; run `npm run build`, or reinstall the package zin',
    when: 'The package does not contain the built console',
    fix: 'Run `npm run build`',
  },
  CONSOLE_FILE_NOT_FOUND: {
    status: 404,
    message: (name: string) => `The console has no file "${name.slice(0, 100)}"; a different version may be running, so reload the page`,
    when: 'A file of a different console version was requested',
    fix: 'Reload the page',
  },
  CONSOLE_CONTRIBUTION: {
    message: (plugin: string, why: string) => `The console cannot load the module of plugin "${plugin}": ${why}`,
    when: 'At start: a listener of `collectConsole` failed, or its module cannot be read. The console starts without it',
    fix: 'Fix the cause given in the message',
  },
  CONSOLE_AUTH_REQUIRED: {
    message: (host: string, why: string) =>
      `The console would be accessible without credentials on ${host}, although ${why}; set its option auth, or remove port`,
    when: 'At boot: `port` is set without `auth`, and the app is reachable from other machines, runs in production or requires credentials of operators (`OPS_AUTH`)',
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
    message: () => 'Open the latest link printed by `zin monitor`; each link works once',
    when: 'With `zin monitor`: the browser has not opened a link, or its link was already used',
    fix: 'Open the latest link printed in the terminal of `zin monitor`',
  },
  CONSOLE_THROTTLED: {
    status: 429,
    message: (seconds: number) => `Too many failed sign-in attempts from your network; try again in ${seconds} s`,
    headers: (seconds: number) => ({ 'Retry-After': String(seconds) }),
    when: 'On `port`: more than 10 failed sign-in attempts came from one network within a minute',
    fix: 'Wait for `Retry-After`',
  },
  CONSOLE_FORBIDDEN: {
    status: 403,
    message: (why: string) => why,
    when: 'On `port` and with `zin monitor`: a page of another site sent the request, a header is missing, or the console is read-only',
    fix: 'See the message',
  },
  CONSOLE_BAD_URL: {
    status: 400,
    message: () => 'The URL of the request is not valid',
    when: 'On `port` and with `zin monitor`: the URL of a request cannot be parsed',
    fix: 'Correct the URL',
  },
  CONSOLE_BODY_TOO_LARGE: {
    status: 413,
    message: (limit: number) => `The request body exceeds the limit of ${limit} bytes`,
    when: 'On `port` and with `zin monitor`: the body of a request exceeds 1 MiB',
    fix: 'Send a smaller body, or send it to the app directly',
  },
  CONSOLE_ADDRESS: {
    message: (host: string, port: number, why: string) => `The console cannot listen on ${host}:${port}: ${why}. Choose another port`,
    when: 'The console cannot listen on its port',
    fix: 'Choose another port',
  },
  CONSOLE_INTERNAL_ERROR: {
    status: 500,
    title: 'Internal server error',
    message: () => 'The console could not handle the request; the cause is in the log of the app, or in the terminal of `zin monitor`',
    when: 'On `port` and with `zin monitor`: an unexpected error occurred; it is logged',
    fix: 'See the log of the app, or the terminal of `zin monitor`',
  },
  CONSOLE_APP_UNREACHABLE: {
    status: 502,
    message: (_cause: unknown) => 'The app does not respond',
    cause: (cause: unknown) => cause,
    when: 'On `port` and with `zin monitor`: the app cannot be reached',
    fix: 'Start the app, or fix `--url`',
  },
})
