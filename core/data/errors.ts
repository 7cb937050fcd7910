import { defineErrors, messageOf } from '../errors.js'

/** Errors of `zin data:export` and `data:import`, and of an app whose data is incomplete. */
export const dataErrors = defineErrors({
  DATA_APP_RUNS: {
    message: (what: string) => `${what}. Stop the app on every machine first: data is moved while it does not run`,
    when: 'Data is to be exported or imported while the app runs',
    fix: 'Stop every process of the app, and repeat the command',
  },
  DATA_FILE_EXISTS: {
    message: (file: string) => `${file} exists; nothing is overwritten. Pass the path of a new file`,
    when: '`zin data:export`: the file exists',
    fix: 'Pass the path of a new file',
  },
  DATA_FILE_INVALID: {
    message: (file: string, line: number, why: string) => `${file}, line ${line}: ${why}. Nothing was written`,
    cause: (_file: string, _line: number, _why: string, error?: unknown) => error,
    when: '`zin data:import`: a line of the file cannot be imported; everything is checked before anything is written',
    fix: 'Correct what the message names, or export again',
  },
  DATA_FILE_UNREADABLE: {
    message: (file: string, error: unknown) => `${file} cannot be read or written: ${messageOf(error)}`,
    cause: (_file: string, error: unknown) => error,
    when: 'The file of an export cannot be read or written',
    fix: 'Check the path, its permissions and the space on the disk',
  },
  DATA_INCOMPLETE: {
    message: (where: string) =>
      `${where} is incomplete: an import into it was ended before it was done. Run "zin data:import <file> --yes" again, which begins anew`,
    when: 'At boot, and of `zin data:export`: an import was ended before it was done',
    fix: 'Repeat the import; to give it up, pass an export of an empty app, or delete the data',
  },
  DATA_NOT_EMPTY: {
    message: (found: string) =>
      `The stores of this app have data already: ${found}. To delete all of it and have only that of the file, pass --replace`,
    when: '`zin data:import`: the stores have data',
    fix: 'Use empty stores, or pass `--replace`, which deletes what they have',
  },
  DATA_NOTHING: {
    message: () => 'No plugin of this app stores data that can be moved',
    when: 'The app has no plugin that stores data that can be moved',
    fix: 'Run the command in the folder of another app',
  },
  DATA_PART_FAILED: {
    message: (plugin: string, what: string, error: unknown) => `The data of ${plugin} could not be ${what}: ${messageOf(error)}`,
    cause: (_plugin: string, _what: string, error: unknown) => error,
    when: 'A plugin could not read or write its data',
    fix: 'Do what the message says, and repeat the command; an import begins anew',
  },
})
