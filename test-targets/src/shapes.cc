// Namespaces, overloads, a template, virtual calls and a caught exception. Exits 0.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace geometry {

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

struct Square final : Shape {
    double side;
    explicit Square(double s) : side(s) {}
    double area() const override { return side * side; } // mark: square-area
};

struct Circle final : Shape {
    double radius;
    explicit Circle(double r) : radius(r) {}
    double area() const override { return 3 * radius * radius; } // mark: circle-area
};

int scale(int x) { return x * 2; }       // mark: scale-int
double scale(double x) { return x * 3; } // mark: scale-double

template <typename T> T largest(const std::vector<T> &values)
{
    if (values.empty())
        throw std::invalid_argument("no values"); // mark: throw
    T best = values.front();
    for (const T &value : values)
        best = value > best ? value : best; // mark: largest
    return best;
}

} // namespace geometry

int main()
{
    std::vector<std::unique_ptr<geometry::Shape>> shapes;
    shapes.push_back(std::make_unique<geometry::Square>(3.0));
    shapes.push_back(std::make_unique<geometry::Circle>(2.0));
    for (const auto &shape : shapes)
        std::printf("area %.1f\n", shape->area()); // mark: virtual-call
    std::printf("scale %d %.1f\n", geometry::scale(21), geometry::scale(1.5));
    std::printf("largest %d %.1f\n", geometry::largest<int>({3, 9, 4}), geometry::largest<double>({0.5}));
    try {
        geometry::largest<int>({});
    } catch (const std::invalid_argument &error) {
        std::printf("caught %s\n", error.what()); // mark: caught
    }
    return 0; // mark: done
}
