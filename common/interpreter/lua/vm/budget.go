package vm

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// look is the number of steps after which the clock is read.
const look = 128

// budget is the remaining time and memory of a call. It is the context that gopher-lua checks before each
// instruction.
type budget struct {
	limiter *Limiter
	// ended returns why the call must stop; nil while it may continue.
	ended func() error
	// large blocks until the call may allocate much.
	large func() (end func(), err error)
	begin time.Time
	cpu   time.Duration // CPU time of the thread when the call began
	bytes int
	steps int
	// exhausted is the error that every instruction gets once the budget is used up, even if the script catches it.
	// Its text contains no measured numbers: a condition that shows it would change with each failing call.
	exhausted string
	// exceeded says that the script used too much, as opposed to the caller cancelling it.
	exceeded bool
	// ends are called at the end of the call.
	ends []func()
}

var _ context.Context = &budget{}

// renew begins a call. It blocks until the script may run.
func (b *budget) renew(ctx context.Context, l *Limiter) error {
	end, err := l.begin(ctx)
	if err != nil {
		return err
	}
	*b = budget{
		limiter: l, ended: ctx.Err, large: func() (func(), error) { return l.large(ctx) },
		//nolint:forbidigo // How long a script has run is not the time of anything else.
		begin: time.Now(),
		cpu:   cpuTime(), bytes: l.memory, ends: []func(){end},
	}
	return nil
}

// end ends the call.
func (b *budget) end() {
	for _, end := range b.ends {
		end()
	}
	b.ends = nil
}

// Done implements context.Context. gopher-lua calls it before every instruction.
func (b *budget) Done() <-chan struct{} {
	if b.steps++; b.steps%look == 0 {
		b.watch()
	}
	if b.exhausted != "" {
		return b.limiter.stopped
	}
	return nil
}

// Deadline implements context.Context.
func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (b *budget) Value(any) any { return nil }

// Err implements context.Context.
func (b *budget) Err() error {
	if b.exhausted == "" {
		return nil
	}
	return &Error{Message: b.exhausted, exceeded: b.exceeded}
}

// charge takes bytes from the budget and raises an error if the budget, or the time, is used up.
func (b *budget) charge(l *lua.LState, bytes int) {
	b.bytes -= bytes
	switch {
	case b.exhausted != "":
	case b.bytes < 0:
		b.exhausted, b.exceeded = fmt.Sprintf("the script uses too much memory; it may allocate %d MiB", b.limiter.memory>>20), true
	case len(b.ends) == 1 && b.limiter.memory-b.bytes > b.limiter.memory/smallShare:
		b.grow()
	}
	if b.steps++; b.steps%look == 0 {
		b.watch()
	}
	b.check(l)
}

// grow blocks until the script may allocate more than a small share. The wait does not count as its time.
func (b *budget) grow() {
	//nolint:forbidigo // As above.
	from := time.Now()
	end, err := b.large()
	if err != nil {
		b.exhausted = "the script was stopped: " + err.Error()
		return
	}
	b.ends = append(b.ends, end)
	//nolint:forbidigo // As above.
	b.begin = b.begin.Add(time.Since(from))
}

// watch checks whether the time is used up.
func (b *budget) watch() {
	if b.exhausted != "" {
		return
	}
	//nolint:forbidigo // As above.
	took := time.Since(b.begin)
	if took > busyTime || took > b.limiter.time && (b.cpu == 0 || cpuTime()-b.cpu > b.limiter.time) {
		b.exhausted, b.exceeded = fmt.Sprintf("the script takes too long; it may run for %v", b.limiter.time), true
	} else if err := b.ended(); err != nil {
		b.exhausted = fmt.Sprintf("the script was stopped: %v", err)
	}
}

// check raises an error if the budget is used up.
func (b *budget) check(l *lua.LState) {
	if b.exhausted != "" {
		l.RaiseError("%s", b.exhausted)
	}
}

// slow is called before an operation in Go that takes long.
func (b *budget) slow(l *lua.LState) {
	b.watch()
	b.check(l)
}

// text charges for a text of this length that is about to be made.
func (b *budget) text(l *lua.LState, length int) {
	if length > maxText {
		l.RaiseError("a text of %d bytes is too long; at most %d are allowed", length, maxText)
	}
	b.charge(l, length+16)
}

// The functions below are called by the code that the meter inserts; see metered.

// block is called at the start of a block of statements, with the maximum that they allocate, and with the table of a
// function's variable arguments if it has one.
func (b *budget) block(l *lua.LState) int {
	cost := int(l.CheckNumber(1))
	if args, ok := l.Get(2).(*lua.LTable); ok {
		cost += args.Len() * valueCost
	}
	b.charge(l, cost)
	return 0
}

// many returns its arguments, which become fields of a table.
func (b *budget) many(l *lua.LState) int {
	b.charge(l, l.GetTop()*valueCost)
	return l.GetTop()
}

// concat is the operator .. with two or more operands.
func (b *budget) concat(l *lua.LState) int {
	length := 0
	for i := 1; i <= l.GetTop(); i++ {
		v := l.Get(i)
		if !lua.LVCanConvToString(v) {
			l.RaiseError("attempt to concatenate a %s value", v.Type())
		}
		if s, ok := v.(lua.LString); ok {
			length += len(s)
		} else {
			length += 24 // a number
		}
	}
	b.text(l, length)
	joined := make([]byte, 0, length)
	for i := 1; i <= l.GetTop(); i++ {
		joined = append(joined, lua.LVAsString(l.Get(i))...)
	}
	l.Push(lua.LString(joined))
	return 1
}

// key is the index of an assignment to a table, if the table is known. A list is as long as its last index, so an
// index far beyond its end costs everything in between.
func (b *budget) key(l *lua.LState) int {
	key := l.Get(1)
	b.charge(l, 0)
	if n, ok := key.(lua.LNumber); ok {
		length := 0
		if t, ok := l.Get(2).(*lua.LTable); ok {
			length = t.Len()
		}
		b.gap(l, float64(n), length)
	}
	l.Push(key)
	return 1
}

// gap charges for the space between the end of a list and an index.
func (b *budget) gap(l *lua.LState, index float64, length int) {
	if beyond := index - float64(length); beyond > 64 && index < float64(lua.MaxArrayIndex) {
		b.charge(l, int(beyond)*valueCost)
	}
}
