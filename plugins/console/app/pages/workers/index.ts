import type { ConsoleModule } from '../../../contract.js'
import { Workers } from './list.js'
import { NodePage } from './node.js'
import { NodeList } from './node-list.js'
import { WorkerPage } from './worker.js'

export const workerPages: ConsoleModule = () => ({
  pages: [
    { path: '/workers', title: 'Workers', plugin: 'workers', may: 'operate', nav: { icon: 'worker', order: 30, key: 'w' }, view: Workers },
    { path: '/workers/:name', title: 'Worker', plugin: 'workers', may: 'operate', view: WorkerPage },
    { path: '/nodes', title: 'Nodes', plugin: 'workers', may: 'operate', view: NodeList },
    { path: '/nodes/:id', title: 'Node', plugin: 'workers', may: 'operate', view: NodePage },
  ],
})
