/** Lets this process import TypeScript, in packages of both kinds. Needed once. */
export async function enableTypescript(): Promise<void> {
  // Our own sources run: that is so already.
  if (import.meta.url.endsWith('.ts')) return
  const [esm, cjs] = await Promise.all([import('tsx/esm/api'), import('tsx/cjs/api')])
  esm.register()
  cjs.register()
}
