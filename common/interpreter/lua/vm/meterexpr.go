package vm

import "github.com/yuin/gopher-lua/ast"

// target meters the target of an assignment.
func (m *meter) target(e ast.Expr) {
	field, ok := e.(*ast.AttrGetExpr)
	if !ok {
		return // a variable
	}
	m.cost += fieldCost
	field.Object, field.Key = m.expr(field.Object), m.expr(field.Key)
	if _, name := field.Key.(*ast.StringExpr); name {
		return
	}
	args := []ast.Expr{single(field.Key)}
	if plain(field.Object) {
		args = append(args, field.Object)
	}
	field.Key = call(keyName, e.Line(), args...)
}

// plain returns whether an expression may be evaluated twice.
func plain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IdentExpr, *ast.StringExpr, *ast.NumberExpr:
		return true
	case *ast.AttrGetExpr:
		return plain(e.Object) && plain(e.Key)
	default:
		return false
	}
}

func (m *meter) exprs(list []ast.Expr) {
	for i := range list {
		list[i] = m.expr(list[i])
	}
}

// expr meters an expression and returns its replacement.
func (m *meter) expr(e ast.Expr) ast.Expr {
	if e == nil || !m.enter(e.Line()) {
		return e
	}
	defer m.leave()
	switch e := e.(type) {
	case *ast.StringExpr:
		m.constant(e.Value)
	case *ast.NumberExpr:
		m.constant(e.Value)
	case *ast.IdentExpr:
		m.constant(e.Value)
	case *ast.AttrGetExpr:
		e.Object, e.Key = m.expr(e.Object), m.expr(e.Key)
	case *ast.TableExpr:
		m.table(e)
	case *ast.FuncCallExpr:
		m.called(e)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = m.expr(e.Lhs), m.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = m.expr(e.Lhs), m.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = m.expr(e.Lhs), m.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = m.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = m.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = m.expr(e.Expr)
	case *ast.FunctionExpr:
		m.function(e)
	case *ast.StringConcatOpExpr:
		return m.concat(e)
	}
	return e
}

// constant records a name, text or number that the compiler stores as a constant of the function.
func (m *meter) constant(value string) {
	m.constants[value] = true
	m.lookups += len(m.constants)
}

// table meters a table constructor.
func (m *meter) table(e *ast.TableExpr) {
	if m.cost += tableCost + fieldCost*len(e.Fields); len(e.Fields) == 0 {
		m.cost += emptyCost - tableCost
	}
	for i, f := range e.Fields {
		f.Key, f.Value = m.expr(f.Key), m.expr(f.Value)
		if _, name := f.Key.(*ast.StringExpr); f.Key != nil && !name {
			f.Key = call(keyName, f.Key.Line(), single(f.Key))
		}
		if i == len(e.Fields)-1 && f.Key == nil && several(f.Value) {
			all := call(manyName, f.Value.Line(), f.Value)
			all.AdjustRet = false
			f.Value = all
		}
	}
}

// several returns whether an expression may have any number of values.
func several(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	default:
		return false
	}
}

// called meters a call.
func (m *meter) called(e *ast.FuncCallExpr) {
	m.constant(e.Method)
	e.Func, e.Receiver = m.expr(e.Func), m.expr(e.Receiver)
	m.exprs(e.Args)
}

// function meters a function.
func (m *meter) function(e *ast.FunctionExpr) {
	m.cost += functionCost
	outer := m.constants
	m.constants = map[string]bool{}
	e.Stmts = m.block(e.Stmts, 0, e.Line())
	m.constants = outer
	if e.ParList != nil && e.ParList.HasVargs {
		// A variadic function that does not use ... gets its arguments in a table made for it.
		line := e.Line()
		arg := &ast.IdentExpr{Value: "arg"}
		arg.SetLine(line)
		e.Stmts = append([]ast.Stmt{charge(0, line, arg)}, e.Stmts...)
	}
}

// maxOperands bounds the texts joined at once; more would need too many registers.
const maxOperands = 50

// concat returns the call that joins texts. The operator is right-associative, so a chain is a list of left operands.
func (m *meter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	line := e.Line()
	var args []ast.Expr
	for {
		args = append(args, single(m.expr(e.Lhs)))
		next, chain := e.Rhs.(*ast.StringConcatOpExpr)
		if !chain || len(args) == maxOperands {
			return settled(call(concatName, line, append(args, single(m.expr(e.Rhs)))...))
		}
		e = next
	}
}

// single truncates the last argument of a call to one value.
func single(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return e
}
