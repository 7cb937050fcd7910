import { type BatchOptions, type ParsedBatch, type ParsedStatement, WireError } from 'zin/plugins/sql-wire'
import type { EdgeConfig } from './config.js'
import { type ReadyStatement, readyStatement, requireRead } from './statement.js'

/** How the result of a statement is written. */
export type Shape = 'query' | 'queryOne' | 'exec'

/** A statement and how its result is written. */
export interface Task {
  readonly statement: ReadyStatement
  readonly shape: Shape
}

/** The task of a single statement: its path decides how it runs. */
export function singleTask(source: ParsedStatement, path: Shape | 'statement', config: EdgeConfig): Task {
  if (path === 'statement' && source.statementId === undefined && config.mode === 'sql')
    throw new WireError('VALIDATION_ERROR', 'This path takes a "statementId"; use /svc/edge/query or /svc/edge/exec for SQL')
  const statement = readyStatement(source, config)
  if (path === 'statement') return { statement, shape: shapeOf(statement, statement.one) }
  if (path !== 'exec') requireRead(statement)
  return { statement, shape: path }
}

/** The tasks of a batch. Throws VALIDATION_ERROR for what D1 cannot do. */
export function batchTasks({ statements, options }: ParsedBatch, config: EdgeConfig): readonly Task[] {
  refuseSequence(options)
  return statements.map((source, index) => {
    try {
      const statement = readyStatement(source, config)
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
    throw new WireError('VALIDATION_ERROR', 'The edge proxy has no mode "sequence": a batch is one transaction, all or nothing')
}

/** Throws the error with the index of its statement. */
export function atIndex(index: number): (error: unknown) => never {
  return (error) => {
    throw error instanceof WireError ? error.with({ details: { failedIndex: index } }) : error
  }
}
