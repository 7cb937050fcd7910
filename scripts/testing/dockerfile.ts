export interface Instruction {
  /** In capitals. */
  readonly name: string
  readonly args: string
}

export interface Stage {
  /** Its name after AS; undefined for the image. */
  readonly name: string | undefined
  readonly image: string
  readonly instructions: readonly Instruction[]
}

/** Reads the stages of a Dockerfile. Knows no heredocs and no escape directive. */
export function parseDockerfile(text: string): readonly Stage[] {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const stages: { name: string | undefined; image: string; instructions: Instruction[] }[] = []
  for (const line of lines) {
    const [, word = '', args = ''] = /^\s*(\w+)\s+(.*)$/.exec(line) ?? []
    const name = word.toUpperCase()
    const [, image = '', as] = (name === 'FROM' && /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(args)) || []
    if (name === 'FROM') stages.push({ name: as, image, instructions: [] })
    else if (stages.length === 0) throw new Error(`${line}: before the first FROM`)
    else stages.at(-1)?.instructions.push({ name, args: args.trim() })
  }
  return stages
}

/** The arguments of the last instruction with this name; throws if there is none. */
export function lastOf({ instructions }: Stage, name: string): string {
  const found = instructions.findLast((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found.args
}

/** The values that ENV sets. */
export function envOf({ instructions }: Stage): Readonly<Record<string, string>> {
  const pairs = instructions.filter(({ name }) => name === 'ENV').flatMap(({ args }) => [...args.matchAll(/(\w+)=(\S+)/g)])
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value]))
}

export interface Copied {
  /** The stage it comes from; undefined for the context. */
  readonly stage: string | undefined
  readonly from: readonly string[]
  readonly to: string
}

export function copiesOf({ instructions }: Stage): readonly Copied[] {
  return instructions
    .filter(({ name }) => name === 'COPY')
    .map(({ args }) => {
      const [, stage, paths = ''] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(args) ?? []
      const words = paths.split(/\s+/)
      return { stage, from: words.slice(0, -1), to: words.at(-1) ?? '' }
    })
}

/** The words of CMD in its exec form, in which the program gets signals. */
export function execForm(args: string): readonly string[] {
  const [, json = ''] = /(\[.*\])$/.exec(args) ?? []
  return JSON.parse(json) as readonly string[]
}
