import type { CommandCredential, CommandRequest } from 'zin'

export interface CommandCredentialOptions {
  /** The shared secret; empty when none is set. */
  readonly secret: string
  readonly headerPrefix: string
}

/** The key id under which commands of the CLI sign with the shared secret. */
const commandKeyId = 'zin-cli'

const unsigned: CommandCredential = {
  headers: {},
  onRefusal: 'the request was not signed: BULLETPROOF_SIGNING_SECRET, AUTH_KEY and APP_KEY are empty here',
}

/** Signs the requests of commands with the shared secret (RFC 9421, including the host). Without a secret they are sent unsigned. */
export function commandCredential({ secret, headerPrefix }: CommandCredentialOptions) {
  return async ({ method, url, body, contentType }: CommandRequest): Promise<CommandCredential> => {
    if (secret === '') return unsigned
    // Loaded on demand: only commands that call the running app need it.
    const { createHeaders } = await import('zin/signer')
    const headers = await createHeaders({
      profile: 'rfc9421',
      method,
      url,
      body,
      contentType,
      keyId: commandKeyId,
      secret,
      // `created` is in whole seconds. The current second may have begun before the app started, and the app would refuse it.
      timestamp: Math.ceil(Date.now() / 1000) * 1000,
      headerPrefix,
    })
    return {
      headers,
      onRefusal:
        'check that the signing secret here is that of the running app, and that the app accepts this address as its own (a gateway must preserve Host, or the app must set signedAuthority)',
    }
  }
}
