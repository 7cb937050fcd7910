import { type BatchOptions, type ParsedBatch, type ParsedStatement, WireError } from 'zin/plugins/sql-wire'
import type { EdgeConfig } from './config.js'
import { type ReadyStatement, readyStatement, requireRead } from './statement.js'

/** Format of a statement's result. */
export type Shape = 'query' | 'queryOne' | 'exec'

/** A statement and the format of its result. */
export interface Task {
  readonly statement: ReadyStatement
  readonly shape: Shape
}

/** Returns the task of a single statement; the path decides how it runs. */
export function singleTask(source: ParsedStatement, path: Shape | 'statement', config: EdgeConfig, keyId: string): Task {
  if (path === 'statement' && source.statementId === undefined && config.mode === 'sql')
    throw new WireError('VALIDATION_ERROR', 'This path requires a "statementId"; use /svc/edge/query or /svc/edge/exec for SQL')
  const statement = readyStatement(source, config, keyId)
  if (path === 'statement') return { statement, shape: shapeOf(statement, statement.one) }
  if (path !== 'exec') requireRead(statement)
  return { statement, shape: path }
}

/** Returns the tasks of a batch. Throws VALIDATION_ERROR for the mode "sequence", which D1 does not support. */
export function batchTasks({ statements, options }: ParsedBatch, config: EdgeConfig, keyId: string): readonly Task[] {
  refuseSequence(options)
  return statements.map((source, index) => {
    try {
      const statement = readyStatement(source, config, keyId)
      if (options.readOnly === true) requireRead(statement)
      return { statement, shape: shapeOf(statement, source.one ?? statement.one) }
    } catch (error) {
      return atIndex(index)(error)
    }
  })
}

function shapeOf({ kind }: ReadyStatement, one: boolean): Shape {
  if (kind === 'write') return 'exec'
  return one ? 'queryOne' : 'query'
}

function refuseSequence({ mode }: BatchOptions): void {
  if (mode === 'sequence')
    throw new WireError(
      'VALIDATION_ERROR',
      'The edge proxy does not support the mode "sequence": a batch is one transaction, all or nothing',
    )
}

/** Returns a handler that rethrows an error with the index of its statement. */
export function atIndex(index: number): (error: unknown) => never {
  return (error) => {
    throw error instanceof WireError ? error.with({ details: { failedIndex: index } }) : error
  }
}
