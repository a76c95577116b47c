// Reads a file with speedscope's own importer and prints what it understood, as JSON.
//
// The npm package ships the importer within the bundle of its page. The page's own part needs a browser and is left to
// fail; the importer is had from the moment in which the bundle defines the module's exports.
import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

const [release, file] = process.argv.slice(2)
const bundle = fs.readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name))

let importer
const define = Object.defineProperty
Object.defineProperty = (target, key, how) => {
  if (key === 'importProfileGroupFromText') importer = how.get
  return define(target, key, how)
}
// Anything that a page may ask of a browser, which is again anything.
const anything = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : key === 'then' ? undefined : anything),
  apply: () => anything,
  construct: () => anything,
  set: () => true,
})
for (const name of ['window', 'document', 'location', 'localStorage', 'matchMedia', 'requestAnimationFrame']) {
  globalThis[name] ??= anything
}
const log = console.log
console.log = console.error = console.warn = () => {}
try {
  vm.runInThisContext(fs.readFileSync(path.join(release, bundle), 'utf-8'))
} catch {
  // The page; see above.
}
await new Promise(resolve => setTimeout(resolve, 10))

const group = await importer()(path.basename(file), fs.readFileSync(file, 'utf-8'))
log(
  JSON.stringify({
    name: group.name,
    profiles: group.profiles.map(profile => {
      const stacks = []
      const calls = []
      const open = []
      const begun = []
      let last = 0
      // What lies between two events belongs to all that are open.
      const book = value => {
        if (value > last && open.length) stacks.push([open.map(frame => frame.name), value - last])
        last = value
      }
      profile.forEachCall(
        (node, value) => (book(value), open.push(node.frame), begun.push(value)),
        (_, value) => (book(value), calls.push([open.pop().name, begun.pop(), value])),
      )
      const frames = []
      profile.forEachFrame(frame => {
        frames.push({ name: frame.name, file: frame.file, line: frame.line, total: frame.getTotalWeight(), self: frame.getSelfWeight() })
      })
      return { name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(), stacks, calls, frames }
    }),
  }),
)
process.exit(0)
