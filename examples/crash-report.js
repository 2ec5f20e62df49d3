// Runs the program until a signal would end it, and tells where and why.
//
//   llmdbg examples/crash-report.js -- PROGRAM [ARG...]
let event
do {
  event = cont({timeout: 60000})
} while (event.reason === 'signal' && !['SIGSEGV', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGABRT', 'SIGTRAP'].includes(event.signal))

print(event)
if (event.reason === 'signal') {
  print(state.instruction.mnemonic)
  const frames = state.unwind()
  const main = frames.findIndex(frame => /^main\b/.test(frame.symbol ?? ''))
  print(frames.slice(0, main + 1 || 20).map(({frame, symbol, file, line}) => ({frame, symbol, file, line})))
}
