/** What an app under `zin dev` says to the process that watches its sources: that it has started, or what it wrote into a watched file. */
export type WatcherMessage = { readonly zin: 'started' } | { readonly zin: 'wrote'; readonly text: string }

/** Says it when `zin dev` listens. */
export function tellWatcher(message: WatcherMessage): void {
  if (process.env.ZIN_DEV === '1' && process.connected) process.send?.(message)
}

export function isWatcherMessage(message: unknown): message is WatcherMessage {
  const kind = (message as { readonly zin?: unknown } | null)?.zin
  return kind === 'started' || kind === 'wrote'
}
