package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"fairlead.dev/common/prose"
)

// Error is an error in a script, at compile time or at run time.
type Error struct {
	// Line of the script, from 1; 0 if it is not known.
	Line int
	// Message is Lua's message without the line number.
	Message string
	// exceeded says that the script exceeded its limits.
	exceeded bool
}

// ErrExceeded matches an Error of a script that exceeded its time or memory.
var ErrExceeded = errors.New("a script uses too much")

// Is implements the matching of ErrExceeded.
func (e *Error) Is(target error) bool { return e.exceeded && target == ErrExceeded }

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// position matches the prefix of Lua's messages about a line of the script.
var position = regexp.MustCompile(`^` + chunk + `:(\d+): `)

// newError converts an error of gopher-lua. The memory is that of the call, nil if there was none.
func newError(err error, m *memory) *Error {
	var (
		syntax  *parse.Error
		compile *lua.CompileError
		running *lua.ApiError
	)
	switch {
	case errors.As(err, &syntax):
		if syntax.Pos.Line == parse.EOF {
			return &Error{Message: "the script ends in the middle of a statement"}
		}
		return &Error{Line: syntax.Pos.Line, Message: fmt.Sprintf("%s near %q", syntax.Message, syntax.Token)}
	case errors.As(err, &compile):
		return &Error{Line: compile.Line, Message: compile.Message}
	case errors.As(err, &running):
		return raised(running, m)
	default:
		return &Error{Message: err.Error()}
	}
}

// maxMessage bounds messages, which are shown in conditions, events and logs. maxShown bounds a table that is shown
// in one, by the decoder's count.
const (
	maxMessage = 1000
	maxShown   = 64 << 10
)

// shown formats any value that a script raised: a table as JSON.
func shown(v lua.LValue, m *memory) string {
	t, ok := v.(*lua.LTable)
	if !ok {
		return lua.LVAsString(v)
	}
	from := &memory{}
	if m != nil {
		from.waiting = m.waiting
	}
	if content, err := newDecoder(from, maxShown).value(t); err == nil {
		if text, err := json.Marshal(content); err == nil && content != nil {
			return string(text)
		}
	}
	return "an error that is a table"
}

// raised returns what was raised while a script ran.
func raised(err *lua.ApiError, m *memory) *Error {
	var message string
	switch {
	case err.Type == lua.ApiErrorPanic:
		message, _, _ = strings.Cut(err.Error(), "\n")
	case err.Cause != nil:
		message = err.Cause.Error()
	default:
		message = shown(err.Object, m)
	}
	message = prose.Cut(message, maxMessage)
	out := &Error{Message: message}
	if m := position.FindStringSubmatch(message); m != nil {
		out.Line, _ = strconv.Atoi(m[1])
		out.Message = message[len(m[0]):]
	}
	if strings.HasSuffix(out.Message, "stack overflow") || strings.HasPrefix(out.Message, "registry overflow") {
		out.Message = "functions call each other too deeply, or hold too many values"
	}
	return out
}
