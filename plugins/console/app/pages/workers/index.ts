import type { ConsoleModule } from '../../../contract.js'
import { Workers } from './list.js'
import { NodePage } from './node.js'
import { NodeList } from './node-list.js'
import { WorkerPage } from './worker.js'

export const workerPages: ConsoleModule = () => ({
  pages: [
    { path: '/workers', title: 'Workers', plugin: 'workers', nav: { icon: 'worker', order: 30, key: 'w' }, view: Workers },
    { path: '/workers/:name', title: 'Worker', plugin: 'workers', view: WorkerPage },
    { path: '/nodes', title: 'Nodes', plugin: 'workers', view: NodeList },
    { path: '/nodes/:id', title: 'Node', plugin: 'workers', view: NodePage },
  ],
})
