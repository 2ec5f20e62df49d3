/* 4,096 functions in one file, f_0000 to f_7777 (octal): symbol tables, near names, output budgets. Exits with f_0007's value, 7. */
#define F(n) int f_##n(void) { return (int)(0##n & 0x7f); }
#define F8(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define F64(n) F8(n##0) F8(n##1) F8(n##2) F8(n##3) F8(n##4) F8(n##5) F8(n##6) F8(n##7)
#define F512(n) F64(n##0) F64(n##1) F64(n##2) F64(n##3) F64(n##4) F64(n##5) F64(n##6) F64(n##7)

F512(0) F512(1) F512(2) F512(3) F512(4) F512(5) F512(6) F512(7) /* mark: functions */

int main(void)
{
    return f_0007(); /* mark: main */
}
