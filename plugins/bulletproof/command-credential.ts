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

/** Signs requests of commands (RFC 9421, with the host) with the shared secret. Without one they go out unsigned. */
export function commandCredential({ secret, headerPrefix }: CommandCredentialOptions) {
  return async ({ method, url, body, contentType }: CommandRequest): Promise<CommandCredential> => {
    if (secret === '') return unsigned
    // Loaded here: only commands that ask the running app need it.
    const { createHeaders } = await import('zin/signer')
    const headers = await createHeaders({
      profile: 'rfc9421',
      method,
      url,
      body,
      contentType,
      keyId: commandKeyId,
      secret,
      // Signed in whole seconds: the present one may have begun before the app did, which then cannot rule out a replay.
      timestamp: Math.ceil(Date.now() / 1000) * 1000,
      headerPrefix,
    })
    return {
      headers,
      onRefusal:
        'is the signing secret here the one of the running app, and the address one by which it knows itself (a gateway must pass on Host, or the app set signedAuthority)?',
    }
  }
}
