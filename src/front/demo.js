// A program dies. Start it, let it run, and see how it ends: cont() returns the stop, and the last value is echoed.
spawn(DEMO)
cont()

// An access to address 0x18. How did it get there?
backtrace()

// The instruction that faulted, and the register it went through.
print(state.instruction)
print('rax =', hex(state.registers.rax))

// A null pointer plus 0x18: a member of a structure that is not there. Who handed it out?
// Run again and listen at the lookup: rdi holds its first argument. 'continue' lets the program go on.
restart()
breakpoint.set('*find_account', 'lookup')
addEventListener('breakpoint', () => {
  ctx.asked = state.memory(state.registers.rdi).str()
  print('find_account(' + JSON.stringify(ctx.asked) + ')')
  return 'continue'
})
cont()

// So that is the story.
print('find_account("' + ctx.asked + '") found nothing and returned null;')
print(state.symbol_at(state.pc) + ' used it without a check.')
kill()
