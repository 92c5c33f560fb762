package vm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Limits of a call.
const (
	// maxTime bounds the CPU time of a call, and busyTime its wall-clock time, since the machine may be busy.
	maxTime  = time.Second
	busyTime = 10 * time.Second
	// maxSource bounds the size of a script, and thereby the nesting of its syntax.
	maxSource = 256 << 10
	// maxText bounds a text that is passed to a function of the string library, or results from joining texts.
	maxText = 1_000_000
	// maxCalls bounds the depth of calls.
	maxCalls = 200
	// maxStack bounds the number of values on the stack of a script.
	maxStack = 1 << 16
	// maxResult bounds the returned values as objects, and maxPod a pod template passed to a built-in function, by
	// the decoder's count. A table that occurs several times counts each time.
	maxResult = 32 << 20
	maxPod    = 4 << 20
)

// chunk is the name of every script in Lua's messages; see newError.
const chunk = "line"

// Engine compiles scripts that may require the same modules.
type Engine struct {
	modules map[string]*lua.FunctionProto
	print   func(string)
	limiter *Limiter
}

// Options configure what scripts find besides the libraries.
type Options struct {
	// Modules are scripts that return a table, by the name with which they are required. Scripts that require them
	// cannot change them.
	Modules map[string]string
	// Limiter is shared with the scripts of other engines; nil gives this engine its own.
	Limiter *Limiter
	// Print receives what scripts print; nil drops it. It is called by the goroutine that called the script.
	Print func(line string)
}

// New returns an engine. It fails if a module does not compile.
func New(o Options) (*Engine, error) {
	e := &Engine{modules: map[string]*lua.FunctionProto{}, print: o.Print, limiter: o.Limiter}
	if e.limiter == nil {
		e.limiter = NewLimiter(0)
	}
	for name, source := range o.Modules {
		proto, err := compile(source)
		if err != nil {
			return nil, fmt.Errorf("compiling module %q: %w", name, err)
		}
		e.modules[name] = proto
	}
	return e, nil
}

// Script is a compiled script that defines one callable function. It is safe for concurrent use.
type Script struct {
	engine   *Engine
	proto    *lua.FunctionProto
	function string
	states   sync.Pool
}

// Compile compiles a script and checks that it defines the function. Errors in the script are an *Error.
func (e *Engine) Compile(source, function string) (*Script, error) {
	proto, err := compile(source)
	if err != nil {
		return nil, err
	}
	s := &Script{engine: e, proto: proto, function: function}
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	//nolint:forbidigo // It waits for scripts only, which end.
	if err := st.run(context.Background(), e.limiter, func() error {
		_, err := st.define(s)
		return err
	}); err != nil {
		return nil, err
	}
	s.states.Put(st)
	return s, nil
}

// compile parses, meters and compiles.
func compile(source string) (proto *lua.FunctionProto, err error) {
	if len(source) > maxSource {
		return nil, &Error{Message: fmt.Sprintf("the script is %d bytes long; at most %d are allowed", len(source), maxSource)}
	}
	defer func() {
		// The compiler may panic on arbitrary input.
		if r := recover(); r != nil {
			proto, err = nil, &Error{Message: fmt.Sprintf("the script cannot be compiled: %v", r)}
		}
	}()
	stmts, err := parse.Parse(strings.NewReader(source), chunk)
	if err != nil {
		return nil, newError(err, nil)
	}
	if stmts, err = metered(stmts); err != nil {
		return nil, err
	}
	if proto, err = lua.Compile(stmts, chunk); err != nil {
		return nil, newError(err, nil)
	}
	return proto, nil
}

// Call calls the function of the script with JSON values as arguments (maps, lists, texts, numbers, booleans, nil),
// and passes the result to read. It waits while too many scripts run. The context may shorten the second that a call
// may take. An error of the script is an *Error; errors of read are returned as they are.
func (s *Script) Call(ctx context.Context, args []any, read func(*Results) error) error {
	st, err := s.state()
	if err != nil {
		return err
	}
	if err := st.run(ctx, s.engine.limiter, func() error {
		results, err := st.call(s, args)
		if err != nil {
			return err
		}
		return read(results)
	}); err != nil {
		return err // The state is not reused: it may have stopped anywhere.
	}
	st.clear()
	s.states.Put(st)
	return nil
}

// state returns a state that is not in use.
func (s *Script) state() (*state, error) {
	if st, ok := s.states.Get().(*state); ok {
		return st, nil
	}
	return newState(s.engine)
}
